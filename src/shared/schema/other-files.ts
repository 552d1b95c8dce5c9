/**
 * Files that lie beside a model's config.json and are given by mistake, told by a key that only they have.
 * Source: the file layout of Hugging Face transformers, peft and diffusers, and of GGUF metadata.
 */

const BESIDE = 'Give the config.json that lies beside it.';

const others: readonly { key: string; what: string; remedy: string }[] = [
  { key: 'weight_map', what: 'the index of a model’s weight files', remedy: BESIDE },
  { key: 'tokenizer_class', what: 'a tokenizer’s configuration', remedy: BESIDE },
  { key: 'added_tokens', what: 'a tokenizer', remedy: BESIDE },
  { key: 'peft_type', what: 'the configuration of an adapter', remedy: 'Give the config.json of its base model.' },
  { key: '_class_name', what: 'a diffusion model, which is not planned', remedy: 'Give a decoder’s config.json.' },
  {
    key: 'general.architecture',
    what: 'metadata of a GGUF file',
    remedy: 'Give the config.json of the model that it was made from.',
  },
  { key: 'eos_token_id', what: 'settings for generating text', remedy: BESIDE },
  { key: 'bos_token_id', what: 'settings for generating text', remedy: BESIDE },
];

/** What such a file is and which one to give; null for any other value. */
export function otherFile(value: unknown): { what: string; remedy: string } | null {
  if (typeof value !== 'object' || value === null) return null;
  return others.find(({ key }) => Object.hasOwn(value, key)) ?? null;
}
