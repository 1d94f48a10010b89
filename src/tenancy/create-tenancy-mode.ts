/**
 * The tenancy modes by their names. What a mode is built from is plain data, so that a component can have it
 * in its part of the configuration.
 */
import { type ArktosOptions, createArktosMode } from './arktos.ts';
import type { TenancyModeName } from './facts.ts';
import { createSharedMode, type SharedOptions } from './shared.ts';
import type { TenancyMode } from './tenancy-mode.ts';

export interface ModeSettings extends ArktosOptions, SharedOptions {
  readonly mode: TenancyModeName;
}

const MODES: Readonly<Record<TenancyModeName, (settings: ModeSettings) => TenancyMode>> = {
  arktos: createArktosMode,
  shared: createSharedMode,
};

export function createTenancyMode(settings: ModeSettings): TenancyMode {
  return MODES[settings.mode](settings);
}
