/** No part at all: a layer of attention only, or of a feed-forward part only, as hybrids have them. */
import { noParameters, type Part } from './types.ts';

export const none: Part<{ type: 'none' }> = {
  parameters: () => noParameters,
  linearFlops: () => 0,
  coreFlops: () => 0,
  operators: () => [],
  tensors: () => [],
  words: () => 'none',
  splitSizes: () => [],
};
