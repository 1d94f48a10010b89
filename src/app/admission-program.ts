/**
 * The program of a process that serves the admission webhook and nothing else. It waits for no other server,
 * so that it can serve before the API server does.
 */
import type { Program, Served } from './app.ts';
import { buildAdmissionListener } from './build-listeners.ts';
import { type LoadedAdmission, loadAdmission } from './configuration.ts';
import { createAdmissionUpstream } from './upstream.ts';

/** Milliseconds for which requests are still accepted, until the API servers know that the process ends. */
const DRAIN = 5_000;
/** Milliseconds; API servers wait five seconds for a verdict. */
const SHUTDOWN_GRACE = 10_000;

export const admissionProgram: Program<LoadedAdmission, Served> = {
  load: loadAdmission,
  async open({ runtime, generations }) {
    return {
      drain: DRAIN,
      grace: SHUTDOWN_GRACE,
      build(loaded, generation) {
        const build = { loaded, runtime, generation };
        return { listeners: [buildAdmissionListener(build, createAdmissionUpstream(build))], warnings: [] };
      },
      afterwards: [{ name: 'components', close: () => generations.close() }],
    };
  },
};
