/** Every error code as the Kubernetes Status and the header fields that a client receives. */
import t from 'tap';
import { CODES, type ErrorCode } from '../../src/errors/codes.ts';
import { StatusError } from '../../src/errors/status-error.ts';
import { toStatus } from '../../src/errors/to-status.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

const isCode = (name: string): name is ErrorCode => Object.hasOwn(CODES, name);

t.test('the Status and the header fields of each code are as recorded', async (t) => {
  const responses = Object.keys(CODES)
    .filter(isCode)
    .map((code) =>
      toStatus(new StatusError(code, 'the message', { allow: ['GET', 'HEAD'] }), 'the-audit-id'),
    );
  sameAsRecorded(t, 'statuses.json', asJSON(responses));
});

t.test('the details of a code precede its cause, and an unknown error reveals nothing', async (t) => {
  const details = { kind: 'pods', name: 'web', causes: [{ reason: 'FieldValueInvalid', message: 'm' }] };
  const detailed = toStatus(
    new StatusError('ListOptionsInvalid', 'the message', { details }),
    'the-audit-id',
  );
  const unknown = toStatus(new Error('a secret'), 'the-audit-id');
  t.notMatch(JSON.stringify(unknown), 'a secret');
  // The text for an unknown error may be improved.
  const { message: _message, ...status } = unknown.status;
  sameAsRecorded(t, 'statuses-special.json', asJSON([detailed, { ...unknown, status }]));
});
