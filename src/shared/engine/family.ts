/** Frameworks with rules and defaults of their own; `serving` are inference engines, `other` knows only what holds everywhere. */
export type RuleFamily = 'megatron-lm' | 'fsdp' | 'deepspeed' | 'serving' | 'other';
