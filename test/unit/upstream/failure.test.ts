import t from 'tap';
import { reasonOf } from '../../../src/errors/status-error.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { responseFault, toStatusError } from '../../../src/upstream/failure.ts';

function tlsError(message: string, code: string) {
  return Object.assign(new Error(message), { code });
}

t.test(
  'a certificate that caFile does not trust is explained to the operator, not to the client',
  async (t) => {
    for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']) {
      const failure = toStatusError(tlsError('no trust', code));
      t.equal(failure.code, 'UpstreamUnavailable');
      t.equal(failure.message, 'the API server cannot be reached at the moment');
      t.match(reasonOf(failure), "the API server's certificate is not trusted by upstream.caFile");
      t.match(reasonOf(failure), /: no trust$/);
    }
  },
);

t.test('any other failure keeps its cause', async (t) => {
  const refused = tlsError('connect ECONNREFUSED', 'ECONNREFUSED');
  t.equal(toStatusError(refused).cause, refused);
  const expired = tlsError('certificate has expired', 'CERT_HAS_EXPIRED');
  t.equal(toStatusError(expired).cause, expired);
});

t.test('a 401 to Stonegate and an unknown status are faults of the API server', async (t) => {
  t.match(responseFault(401, false, silentLogger), { code: 'UpstreamRefusedCredential' });
  t.equal(responseFault(401, true, silentLogger), undefined, 'from a workload');
  for (const status of [200, 403, 599]) t.equal(responseFault(status, false, silentLogger), undefined);
  for (const status of [0, 99, 199, 600, 999])
    t.match(responseFault(status, true, silentLogger), { code: 'UpstreamUnavailable' }, String(status));
});
