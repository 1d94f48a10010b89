/**
 * `stonegate serve --only admission`: one process with the admission webhook and the admin listener.
 */
import type { CommandIO } from '../../cli/command.ts';
import { systemSources } from '../../config/load.ts';
import { loadAdmission } from '../../config/load-admission.ts';
import { createAdmissionApp } from '../admission-app.ts';
import { runWithAdmin, startProcess } from './start-process.ts';

/** Resolves when everything is closed. */
export function serveAdmission(file: string, io: CommandIO): Promise<number> {
  return startProcess(file, 'the files of its section admission', io, loadAdmission, (started) => {
    const { loaded, limit } = started;
    const start = () => {
      limit.begin(`listening at admission.bind ${loaded.configuration.admission.bind}`);
      return createAdmissionApp({ ...started, sources: systemSources });
    };
    return runWithAdmin(started, start, ({ address }) => ({ admission: address }));
  });
}
