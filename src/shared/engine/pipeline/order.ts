/**
 * The order of work of a pipeline schedule: for each rank the list of operations that it runs one after another.
 *
 * A stage is a part of the model that one rank holds; a micro-batch walks forward over the stages of one path and back
 * over the same. Most schedules have one path, DualPipe has two that run against each other.
 */

/** Kinds of operations. A pair is one forward and one whole backward that a rank runs interwoven (DualPipe). */
export const OPERATIONS = { forward: 0, backward: 1, inputGradient: 2, weightGradient: 3, pair: 4 } as const;
export type OperationKind = (typeof OPERATIONS)[keyof typeof OPERATIONS];

/** The operations of one rank, in order, as columns. */
export interface RankOrder {
  readonly kinds: Uint8Array;
  /** Stage and micro-batch; of a pair those of its forward. */
  readonly stages: Int32Array;
  readonly microBatches: Int32Array;
  /** Stage and micro-batch of a pair's backward; −1 elsewhere. */
  readonly pairStages: Int32Array;
  readonly pairMicroBatches: Int32Array;
}

export interface PipelineOrder {
  readonly numStages: number;
  /** Stages of one path; a path starts at every multiple of it. */
  readonly stagesPerPath: number;
  /** Micro-batches of one path. */
  readonly microBatchesPerPath: number;
  /** Rank that holds each stage. */
  readonly rankOfStage: Int32Array;
  readonly ranks: readonly RankOrder[];
}

export interface StageMicroBatch {
  readonly stage: number;
  readonly microBatch: number;
}

/** Collects the operations of one rank. */
export class RankOrderBuilder {
  private readonly kinds: number[] = [];
  private readonly stages: number[] = [];
  private readonly microBatches: number[] = [];
  private readonly pairStages: number[] = [];
  private readonly pairMicroBatches: number[] = [];

  forward(stage: number, microBatch: number): void {
    this.push(OPERATIONS.forward, stage, microBatch);
  }

  /** Input and weight gradients in one go. */
  backward(stage: number, microBatch: number): void {
    this.push(OPERATIONS.backward, stage, microBatch);
  }

  inputGradient(stage: number, microBatch: number): void {
    this.push(OPERATIONS.inputGradient, stage, microBatch);
  }

  weightGradient(stage: number, microBatch: number): void {
    this.push(OPERATIONS.weightGradient, stage, microBatch);
  }

  /** Forward of one micro-batch interwoven with the backward of another. */
  pair(forward: StageMicroBatch, backward: StageMicroBatch): void {
    this.push(OPERATIONS.pair, forward.stage, forward.microBatch, backward);
  }

  build(): RankOrder {
    return {
      kinds: Uint8Array.from(this.kinds),
      stages: Int32Array.from(this.stages),
      microBatches: Int32Array.from(this.microBatches),
      pairStages: Int32Array.from(this.pairStages),
      pairMicroBatches: Int32Array.from(this.pairMicroBatches),
    };
  }

  private push(kind: OperationKind, stage: number, microBatch: number, pair?: StageMicroBatch): void {
    this.kinds.push(kind);
    this.stages.push(stage);
    this.microBatches.push(microBatch);
    this.pairStages.push(pair?.stage ?? -1);
    this.pairMicroBatches.push(pair?.microBatch ?? -1);
  }
}

/** Orders of all ranks, each filled by `fill`. */
export function rankOrders(pp: number, fill: (rank: number, builder: RankOrderBuilder) => void): RankOrder[] {
  return Array.from({ length: pp }, (_, rank) => {
    const builder = new RankOrderBuilder();
    fill(rank, builder);
    return builder.build();
  });
}

/** How stages lie on ranks: one each, around and around, or down and up again. */
export type Placement = 'one' | 'around' | 'down-and-up';

/** The rank of a stage: stage mod pp, or in a V the mirrored rank on every second pass. */
export function rankOfStage(placement: Placement, pp: number, stage: number): number {
  const isBackUp = placement === 'down-and-up' && Math.floor(stage / pp) % 2 === 1;
  return isBackUp ? pp - 1 - (stage % pp) : stage % pp;
}

/** An order over one path of stages. */
export function onePath(
  placement: Placement,
  { pp, numMicroBatches, vpp }: { pp: number; numMicroBatches: number; vpp: number },
  ranks: readonly RankOrder[],
): PipelineOrder {
  const numStages = pp * vpp;
  return {
    numStages,
    stagesPerPath: numStages,
    microBatchesPerPath: numMicroBatches,
    rankOfStage: Int32Array.from({ length: numStages }, (_, stage) => rankOfStage(placement, pp, stage)),
    ranks,
  };
}
