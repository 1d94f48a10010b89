/**
 * Pods as Arktos sends them to an admission webhook, recorded on a running server: what Arktos itself adds to
 * a tenant's pod violates no rule.
 */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { arktosFieldViolations } from '../../../src/features/admission/arktos-pod-fields.ts';
import { nodeSelectionViolations } from '../../../src/features/admission/node-selection.ts';
import { podPartOf } from '../../../src/features/admission/pod-part.ts';
import {
  type PodSecurityLevel,
  podSecurityViolations,
} from '../../../src/features/admission/pod-security.ts';
import { newViolations } from '../../../src/features/admission/violation.ts';

interface AdmissionRequest {
  readonly resource: { readonly group: string; readonly resource: string };
  readonly object: unknown;
  readonly oldObject: unknown;
}

const FOLDER = new URL('recorded-admission/', import.meta.url);

function readRequest(file: string): AdmissionRequest {
  const recorded: { request: { body: { request: AdmissionRequest } } } = JSON.parse(
    readFileSync(new URL(file, FOLDER), 'utf8'),
  );
  return recorded.request.body.request;
}

function violationsIn({ resource, object, oldObject }: AdmissionRequest, level: PodSecurityLevel) {
  const evaluate = (one: unknown) => {
    const part = podPartOf(resource.group, resource.resource, one);
    if (part === undefined) throw new TypeError(resource.resource);
    return [
      // Arktos is a fork of Kubernetes 1.15.
      ...podSecurityViolations(part, { level, version: 'v1.15', mode: 'enforce' }),
      ...nodeSelectionViolations(part, []),
      ...arktosFieldViolations(part, level),
    ];
  };
  return newViolations(evaluate, object, oldObject).map(({ path }) => path);
}

for (const file of readdirSync(FOLDER))
  t.test(`${file}: an ordinary pod of a tenant is allowed at baseline`, async (t) =>
    t.strictSame(violationsIn(readRequest(file), 'baseline'), []),
  );

t.test('an update of labels alone is allowed at every level', async (t) => {
  const update = readRequest('webhook-call-validating-update-pods-user.json');
  t.strictSame(violationsIn(update, 'restricted'), []);
  t.ok(
    violationsIn({ ...update, oldObject: null }, 'restricted').length > 0,
    'a new pod with the same spec is refused',
  );
});
