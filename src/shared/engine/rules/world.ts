/** Rules about the product of the degrees and about sequence parallelism. */
import { divisorsOf } from '../divisors.ts';
import { degreeRule, tpCandidates, type Rule } from './rule.ts';

export const worldRules: readonly Rule[] = [
  degreeRule(
    'degrees-divide-cluster',
    'pp',
    ({ network }, { tp, pp, cp }) =>
      network.numAccelerators % (tp * pp * cp) === 0
        ? null
        : `tp·pp·cp = ${tp}·${pp}·${cp} = ${tp * pp * cp} does not divide the ${network.numAccelerators} accelerators`,
    ({ network }) => divisorsOf(network.numAccelerators),
  ),
  degreeRule(
    'world-size',
    'dp',
    ({ network }, { tp, pp, cp, dp }) =>
      tp * pp * cp * dp === network.numAccelerators
        ? null
        : `tp·pp·cp·dp = ${tp}·${pp}·${cp}·${dp} = ${tp * pp * cp * dp}, but the cluster has ${network.numAccelerators} accelerators`,
    ({ network }) => divisorsOf(network.numAccelerators),
  ),
  degreeRule(
    'sequence-divides-tp',
    'tp',
    ({ workload }, { tp, cp, sequenceParallel }) =>
      !sequenceParallel || workload.seqLen % (tp * cp) === 0
        ? null
        : `the ${workload.seqLen / cp} tokens of a rank do not divide over tp = ${tp}, as sequence parallelism splits them`,
    tpCandidates,
  ),
  {
    id: 'sequence-parallel-needs-tp',
    path: 'sequenceParallel',
    fault: (_, { tp, sequenceParallel }) =>
      sequenceParallel && tp === 1 ? 'sequence parallelism needs tp above 1' : null,
    candidates: () => [false, true],
    set: (plan, value) => ({ ...plan, sequenceParallel: value === true }),
  },
];
