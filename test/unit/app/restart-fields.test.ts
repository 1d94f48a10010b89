import t from 'tap';
import { fieldPaths } from '../../../scripts/configuration-reference.ts';
import { RESTART_FIELDS, warnOfRestart } from '../../../src/app/restart-fields.ts';

t.test('every field that needs a restart is one of the configuration', async (t) => {
  const known = fieldPaths();
  t.same(
    RESTART_FIELDS.filter((field) => !known.includes(field)),
    [],
  );
});

t.test('changed fields are named, in a configuration that lacks sections too', async (t) => {
  const warned: object[] = [];
  const logger = { warn: (fields: object) => void warned.push(fields) };
  const started = { admin: { bind: '127.0.0.1:9090' }, admission: { bind: ':8446' }, log: { level: 'info' } };
  warnOfRestart(started, { ...started, log: { level: 'debug' } }, logger);
  t.same(warned, []);
  warnOfRestart(started, { ...started, admin: { bind: '0.0.0.0:9090' } }, logger);
  t.same(warned, [{ fields: ['admin.bind'] }]);
});
