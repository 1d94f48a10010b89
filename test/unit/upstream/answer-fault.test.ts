import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { responseFault } from '../../../src/upstream/failure.ts';

t.test('a 401 of the API server is about our credential', async (t) => {
  t.match(responseFault(401, false, silentLogger), { code: 'UpstreamRefusedCredential' });
});

t.test('a 401 of a workload is its own, and a 403 is about the user', async (t) => {
  t.equal(responseFault(401, true, silentLogger), undefined);
  t.equal(responseFault(403, false, silentLogger), undefined);
});

t.test('every status that HTTP knows passes, and no other', async (t) => {
  for (let status = 0; status < 1100; status += 1) {
    const fault = responseFault(status, true, silentLogger);
    if (status >= 200 && status <= 599) t.equal(fault, undefined, String(status));
    else t.match(fault, { code: 'UpstreamUnavailable', http: 503 }, String(status));
  }
});
