/**
 * The eight steps of DualPipe, in which a rank works on two streams of micro-batches and runs a forward of one interwoven
 * with a backward of the other. DualPipe's streams come from both ends of the pipeline over two copies of the model;
 * DualPipeV's are the two chunks of a V.
 * Source: MODEL §6; deepseek-ai/DualPipe, dualpipe.py and dualpipev.py (HEAD), steps 1 to 8.
 */
import { rankOfStage, rankOrders, type PipelineOrder, type RankOrderBuilder } from '../order.ts';

/** Number of one rank's turns in each step: `position` from the outer end, of `numPositions` to the middle. */
interface RankPlace {
  readonly position: number;
  readonly numPositions: number;
  /** Micro-batches of each stream. */
  readonly microBatches: number;
  /** Stage of stream 0 and of stream 1 on this rank. */
  readonly stages: readonly [number, number];
}

type Stream = 0 | 1;

class DualPipeRank {
  private readonly nextForward: [number, number] = [0, 0];
  private readonly nextBackward: [number, number] = [0, 0];
  /** Weight gradients put off, oldest first. */
  private readonly deferred: { stage: number; microBatch: number }[] = [];

  private readonly builder: RankOrderBuilder;
  private readonly place: RankPlace;

  constructor(builder: RankOrderBuilder, place: RankPlace) {
    this.builder = builder;
    this.place = place;
  }

  private takeForward(stream: Stream) {
    return { stage: this.place.stages[stream], microBatch: this.nextForward[stream]++ };
  }

  private takeBackward(stream: Stream) {
    return { stage: this.place.stages[stream], microBatch: this.nextBackward[stream]++ };
  }

  private forward(stream: Stream): void {
    const { stage, microBatch } = this.takeForward(stream);
    this.builder.forward(stage, microBatch);
  }

  private backward(stream: Stream, isSplit = false): void {
    const back = this.takeBackward(stream);
    if (!isSplit) return this.builder.backward(back.stage, back.microBatch);
    this.builder.inputGradient(back.stage, back.microBatch);
    this.deferred.push(back);
  }

  private weight(): void {
    const oldest = this.deferred.shift();
    if (oldest !== undefined) this.builder.weightGradient(oldest.stage, oldest.microBatch);
  }

  private pair(forward: Stream, backward: Stream): void {
    this.builder.pair(this.takeForward(forward), this.takeBackward(backward));
  }

  fill(): void {
    const { position: q, numPositions: n, microBatches } = this.place;
    const outer = n - q - 1;
    for (let i = 0; i < 2 * outer; i++) this.forward(0);
    for (let i = 0; i <= q; i++) {
      this.forward(0);
      this.forward(1);
    }
    for (let i = 0; i < outer; i++) {
      this.backward(1, true);
      this.weight();
      this.forward(1);
    }
    this.main(microBatches - 2 * n + q + 1, outer === 0);
    for (let i = 0; i < outer; i++) {
      this.backward(1);
      this.pair(1, 0);
    }
    this.coolDown(q);
    for (let i = 0; i < outer; i++) {
      this.weight();
      this.backward(0, true);
    }
    for (let i = 0; i <= q; i++) this.weight();
  }

  /** Forwards of one stream against backwards of the other; a middle rank starts with the first two one by one. */
  private main(turns: number, isMiddle: boolean): void {
    for (let i = 0; i < turns; i++) {
      if (i === 0 && isMiddle) {
        this.forward(0);
        this.backward(1);
      } else this.pair(0, 1);
      this.pair(1, 0);
    }
  }

  /** Backwards of both streams; in the second half the weight gradients wait. */
  private coolDown(q: number): void {
    const half = Math.floor((q + 1) / 2);
    let isSplit = false;
    for (let i = 0; i <= q; i++) {
      if (i === half && q % 2 === 1) isSplit = true;
      this.backward(1, isSplit);
      if (i === half && q % 2 === 0) isSplit = true;
      this.backward(0, isSplit);
    }
  }
}

/** Two copies of the model, one entered from each end. Stages 0…p−1 are the first's, p…2p−1 the second's. */
export function dualPipeOrder(pp: number, numMicroBatches: number): PipelineOrder {
  const perStream = numMicroBatches / 2;
  const ranks = rankOrders(pp, (rank, builder) => {
    const fromStart = rank;
    const fromEnd = pp + (pp - 1 - rank);
    const isFirstHalf = rank < pp / 2;
    new DualPipeRank(builder, {
      position: Math.min(rank, pp - 1 - rank),
      numPositions: pp / 2,
      microBatches: perStream,
      stages: isFirstHalf ? [fromStart, fromEnd] : [fromEnd, fromStart],
    }).fill();
  });
  return {
    numStages: 2 * pp,
    stagesPerPath: pp,
    microBatchesPerPath: perStream,
    rankOfStage: Int32Array.from({ length: 2 * pp }, (_, stage) => (stage < pp ? stage : 2 * pp - 1 - stage)),
    ranks,
  };
}

/** One model in a V: rank r holds stages r and 2p−1−r. */
export function dualPipeVOrder(pp: number, numMicroBatches: number): PipelineOrder {
  const numStages = 2 * pp;
  const ranks = rankOrders(pp, (rank, builder) =>
    new DualPipeRank(builder, {
      position: rank,
      numPositions: pp,
      microBatches: numMicroBatches,
      stages: [rank, numStages - 1 - rank],
    }).fill(),
  );
  return {
    numStages,
    stagesPerPath: numStages,
    microBatchesPerPath: numMicroBatches,
    rankOfStage: Int32Array.from({ length: numStages }, (_, stage) => rankOfStage('down-and-up', pp, stage)),
    ranks,
  };
}
