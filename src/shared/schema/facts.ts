/**
 * What may be known or unknown about a configuration, as dotted paths. A report of a run seldom states everything: a rule
 * is only asked where what it looks at is known.
 */
export const facts = [
  'cluster.numAccelerators',
  'model.numLayers',
  'model.hiddenSize',
  'model.ffnHiddenSize',
  'model.numHeads',
  'model.numKvHeads',
  'model.headDim',
  'model.vocabSize',
  'model.moe',
  'job.globalBatchSize',
  'job.seqLen',
  'plan.dp',
  'plan.microBatchSize',
  'plan.numMicroBatches',
  'plan.sequenceParallel',
  'plan.zeroStage',
  'plan.recompute',
  'plan.schedule',
] as const;
export type Fact = (typeof facts)[number];
