/**
 * Money, energy and carbon of a run. Source: MODEL §7.5.
 */

const HOURS_PER_YEAR = 8760;
const WATTS_PER_KILOWATT = 1000;

/**
 * Share of rated power that accelerators draw while training, and what the rest of a node and the building add.
 * Source: arXiv 2412.08602 (8×H100 nodes: training at up to 76 % of rated power on average; node 8.4 kW measured); MODEL §7.5
 * gives the ranges 0.61–0.93, 1.3–1.5 and 1.08–1.3.
 */
export const typicalPower = { utilisation: 0.76, nodeFactor: 1.35, pue: 1.2 } as const;

/**
 * Power of a node of eight H100 ÷ that of its accelerators at their rating: the most that was measured while training, and
 * the rating of the node, which is what a room has to supply. Source: arXiv 2412.08602 (8.4 and 10.2 kW over 8 × 700 W).
 */
export const nodePower = { measuredPeak: 8.4 / 5.6, rated: 10.2 / 5.6 } as const;

export interface PowerFactors {
  /** Drawn ÷ rated power of an accelerator. */
  readonly utilisation: number;
  /** Power of a node ÷ that of its accelerators. */
  readonly nodeFactor: number;
  /** Power usage effectiveness: the building's power ÷ the computers'. */
  readonly pue: number;
}

/** Energy of a run, kWh: accelerator hours · rated power · utilisation · node · building. */
export function energyKwh(acceleratorHours: number, ratedWatts: number, factors: PowerFactors = typicalPower): number {
  const { utilisation, nodeFactor, pue } = factors;
  return acceleratorHours * (ratedWatts / WATTS_PER_KILOWATT) * utilisation * nodeFactor * pue;
}

/** kWh of the accelerators alone at their rated power, the way model cards count. */
export const ratedEnergyKwh = (acceleratorHours: number, ratedWatts: number): number =>
  energyKwh(acceleratorHours, ratedWatts, { utilisation: 1, nodeFactor: 1, pue: 1 });

/** Watts of one node under load, without the building. */
export function nodeWatts(accelerators: number, ratedWatts: number, factors: Omit<PowerFactors, 'pue'>): number {
  return accelerators * ratedWatts * factors.utilisation * factors.nodeFactor;
}

/** Tonnes of CO₂ equivalent at a grid's intensity in kg per kWh. */
export function carbonTonnes(kwh: number, kgPerKwh: number): number {
  return (kwh * kgPerKwh) / 1000;
}

/** Grid intensity behind a reported amount, kg per kWh. */
export function carbonIntensity(tonnes: number, kwh: number): number {
  return (tonnes * 1000) / kwh;
}

/** Price of accelerator hours. */
export function priceOf(acceleratorHours: number, perAcceleratorHour: number): number {
  return acceleratorHours * perAcceleratorHour;
}

export interface Ownership {
  /** Price of a node, and what the network adds as a share of it (0.1–0.2). */
  readonly nodePrice: number;
  readonly networkShare: number;
  readonly acceleratorsPerNode: number;
  /** Yearly interest and years until it is written off. */
  readonly interest: number;
  readonly years: number;
  /** kW of a node under load, the building's factor, and the price of a kWh. */
  readonly nodeKw: number;
  readonly pue: number;
  readonly pricePerKwh: number;
  /** Staff, space and repairs per year as a share of the price. */
  readonly operationShare: number;
  /** Share of all hours that are used. */
  readonly used: number;
}

/** Yearly payment per unit of capital: i ÷ (1 − (1+i)^−years); 1/years without interest. */
export function capitalRecovery(interest: number, years: number): number {
  return interest === 0 ? 1 / years : interest / (1 - (1 + interest) ** -years);
}

/** What an owned accelerator costs per used hour. Source: MODEL §7.5 (capital recovery, power, operation). */
export function ownershipPerHour(owned: Ownership): number {
  const { nodePrice, networkShare, acceleratorsPerNode, nodeKw, pue, pricePerKwh, operationShare, used } = owned;
  const capital = nodePrice * (1 + networkShare) * capitalRecovery(owned.interest, owned.years);
  const power = nodeKw * pue * pricePerKwh * HOURS_PER_YEAR;
  return (capital + power + operationShare * nodePrice) / acceleratorsPerNode / (HOURS_PER_YEAR * used);
}
