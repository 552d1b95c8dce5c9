/** All collective algorithms; the fastest that can run is taken. */
import { direct } from './direct.ts';
import { hierarchical } from './hierarchical.ts';
import { inNetwork } from './in-network.ts';
import { local } from './local.ts';
import { ring } from './ring.ts';
import { tree } from './tree.ts';
import type { Algorithm } from './types.ts';

export const algorithms: readonly Algorithm[] = [local, ring, tree, hierarchical, inNetwork, direct];
export type { Algorithm, Transfer } from './types.ts';
