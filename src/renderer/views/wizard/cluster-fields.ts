/** The fields of the wizard's cluster step. */
import { choices, type FieldGroup } from './field-types.ts';

export const clusterGroups: readonly FieldGroup[] = [
  {
    title: 'Accelerators',
    fields: [
      { path: 'cluster.numAccelerators', kind: 'count', label: 'Accelerators', help: 'In all. Whole nodes.' },
      { path: 'cluster.acceleratorsPerNode', kind: 'count', label: 'Per node' },
    ],
  },
  {
    title: 'Scale-up links (NVLink and its like)',
    fields: [
      {
        path: 'cluster.scaleUp.domainSize',
        kind: 'count',
        label: 'Domain size',
        unit: 'accelerators',
        help: 'How many reach each other over these links.',
      },
      {
        path: 'cluster.scaleUp.bandwidthGBps',
        kind: 'number',
        label: 'Bandwidth',
        unit: 'GB/s',
        help: 'Per accelerator and direction.',
      },
      {
        path: 'cluster.scaleUp.linkGBps',
        kind: 'number',
        nullable: true,
        label: 'One link',
        unit: 'GB/s',
        help: 'To one peer (pairs) or along one direction of a torus. Empty: follows from the wiring.',
      },
      {
        path: 'cluster.scaleUp.kind',
        kind: 'choice',
        label: 'Wiring',
        choices: choices(
          ['switched', 'Switched (NVSwitch)'],
          ['ring', 'Ring'],
          ['torus', 'Torus'],
          ['pairwise', 'Pairs only'],
        ),
      },
    ],
  },
  {
    title: 'Scale-out network',
    fields: [
      {
        path: 'cluster.scaleOut.nicsPerAccelerator',
        kind: 'number',
        label: 'NICs per accelerator',
        help: 'One half when two share one, 0 when none leaves the node.',
      },
      {
        path: 'cluster.scaleOut.bandwidthGbps',
        kind: 'number',
        label: 'Bandwidth per NIC',
        unit: 'Gb/s',
        help: 'Per direction, in gigabits.',
      },
      { path: 'cluster.scaleOut.latencyUs', kind: 'number', label: 'Latency', unit: 'µs' },
      {
        path: 'cluster.scaleOut.oversubscription',
        kind: 'number',
        label: 'Oversubscription',
        unit: ': 1',
        help: '1 is full bisection; 2 halves what crosses the fabric.',
      },
      {
        path: 'cluster.scaleOut.inNetworkReduction',
        kind: 'toggle',
        label: 'Reduction in the switches',
        help: 'SHARP and its like.',
      },
    ],
  },
  {
    title: 'Price',
    optional: {
      path: 'cluster.price',
      label: 'Count what it costs',
      help: 'Without a price, plans have no cost.',
      initial: { currency: 'USD', perAcceleratorHour: 2, source: 'user', date: null },
    },
    fields: [
      { path: 'cluster.price.perAcceleratorHour', kind: 'number', label: 'Price', unit: 'per accelerator-hour' },
      { path: 'cluster.price.currency', kind: 'text', label: 'Currency', help: 'Three letters, e.g. USD or EUR.' },
      { path: 'cluster.price.source', kind: 'text', label: 'Where the price comes from' },
      { path: 'cluster.price.date', kind: 'text', nullable: true, label: 'As of', help: 'Date of the price.' },
    ],
  },
  {
    title: 'Host',
    isFolded: true,
    optional: {
      path: 'cluster.host',
      label: 'Host memory is known',
      help: 'Else the usual node of the accelerator is taken.',
      initial: { memoryGiB: 2048, linkGBps: 64 },
    },
    fields: [
      { path: 'cluster.host.memoryGiB', kind: 'number', label: 'Memory per node', unit: 'GiB' },
      { path: 'cluster.host.linkGBps', kind: 'number', label: 'Link per accelerator', unit: 'GB/s' },
    ],
  },
  {
    title: 'Storage',
    isFolded: true,
    optional: {
      path: 'cluster.storage',
      label: 'Storage is known',
      help: 'Needed for checkpoints, by later versions.',
      initial: { readGBps: 100, writeGBps: 100 },
    },
    fields: [
      { path: 'cluster.storage.readGBps', kind: 'number', label: 'Read', unit: 'GB/s' },
      { path: 'cluster.storage.writeGBps', kind: 'number', label: 'Write', unit: 'GB/s' },
    ],
  },
];

/** Every figure of the accelerator itself; shown once the scenario has figures of its own. */
export const ownHardwareGroup: FieldGroup = {
  title: 'Figures of the accelerator',
  isFolded: true,
  optional: {
    path: 'cluster.acceleratorOverrides',
    label: 'Use my own figures',
    help: 'For parts that are not in the list, or that measure differently. Starts from the figures of the list.',
    initial: {},
  },
  fields: [
    { path: 'cluster.acceleratorOverrides.name', kind: 'text', label: 'Name' },
    ...(['bf16', 'fp16', 'fp8', 'fp4', 'tf32', 'fp32'] as const).map((precision) => ({
      path: `cluster.acceleratorOverrides.peakTflops.${precision}`,
      kind: 'number' as const,
      nullable: true,
      label: `Dense ${precision.toUpperCase()}`,
      unit: 'TFLOP/s',
      help: 'Empty: no such unit.',
    })),
    {
      path: 'cluster.acceleratorOverrides.peakTflops.int8',
      kind: 'number',
      nullable: true,
      label: 'Dense INT8',
      unit: 'TOP/s',
    },
    {
      path: 'cluster.acceleratorOverrides.bestMatmulTflops',
      kind: 'number',
      nullable: true,
      label: 'Best BF16 matmul measured',
      unit: 'TFLOP/s',
      help: 'Stretches borrowed kernel curves. Empty: not measured.',
    },
    { path: 'cluster.acceleratorOverrides.memoryGiB', kind: 'number', label: 'Memory', unit: 'GiB' },
    {
      path: 'cluster.acceleratorOverrides.usableMemoryGiB',
      kind: 'number',
      label: 'Usable memory',
      unit: 'GiB',
      help: 'What one process can allocate in all.',
    },
    {
      path: 'cluster.acceleratorOverrides.memoryBandwidthGBps',
      kind: 'number',
      label: 'Memory bandwidth',
      unit: 'GB/s',
    },
    {
      path: 'cluster.acceleratorOverrides.numMultiprocessors',
      kind: 'count',
      nullable: true,
      label: 'Multiprocessors',
    },
    { path: 'cluster.acceleratorOverrides.hostLinkGBps', kind: 'number', label: 'Link to the host', unit: 'GB/s' },
    {
      path: 'cluster.acceleratorOverrides.hostLinkKind',
      kind: 'choice',
      label: 'Kind of that link',
      choices: choices(['pcie', 'PCIe'], ['c2c', 'Chip to chip']),
    },
    {
      path: 'cluster.acceleratorOverrides.hostMemoryGiB',
      kind: 'number',
      nullable: true,
      label: 'Usual host memory per node',
      unit: 'GiB',
    },
    { path: 'cluster.acceleratorOverrides.powerW', kind: 'number', nullable: true, label: 'Power', unit: 'W' },
    {
      path: 'cluster.acceleratorOverrides.kernelCurves',
      kind: 'text',
      nullable: true,
      label: 'Measured kernels',
      help: 'A key of the kernel curves, e.g. h100-sxm. Empty: none of its own.',
    },
    {
      path: 'cluster.acceleratorOverrides.similarTo',
      kind: 'text',
      nullable: true,
      label: 'Else as fast as',
      help: 'The part whose kernel curves it borrows, e.g. h100-sxm.',
    },
  ],
};
