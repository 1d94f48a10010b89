/**
 * Declares the core as features are declared: the sections of the configuration that belong to no feature,
 * with their rules and warnings.
 */
import { CORE_SECTIONS } from '../config/core-configuration.ts';
import { checkStaticUsers } from '../config/static-users.ts';
import { coreRules, coreWarnings } from '../config/validate.ts';
import { defineFeature } from '../features/define-feature.ts';

export const core = defineFeature({
  name: 'core',
  sections: CORE_SECTIONS,
  rules: coreRules,
  warnings: coreWarnings,
  checkFiles: checkStaticUsers,
  restartFields: [
    'server.bind',
    'server.http2',
    'server.workers',
    'server.drain',
    'server.shutdownGrace',
    'server.timeouts.header',
    'server.timeouts.idle',
    'server.timeouts.stall',
    'server.limits.headerBytes',
    'admin.bind',
    'audit.file',
  ],
  // The composition root reads the whole configuration.
  reads: () => ({}),
});
