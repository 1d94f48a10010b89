/**
 * Objects with the annotation `multi-tenancy.k8s.io/published` are copied to tenants. So setting, changing or
 * removing it needs the verb `publish` on the object; and whose the copies are, `own-objects.ts` decides.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { PUBLISHED, PUBLISHED_POLICY } from '../../kubernetes/published-objects.ts';
import { ObjectReader } from './object-reader.ts';
import type { RequiredAccess } from './required-access.ts';
import { keyPath } from './violation.ts';

const ANNOTATIONS = [PUBLISHED, PUBLISHED_POLICY];

/** @param request about an object that may be published; also through a subresource */
export function requiredToPublish(request: AdmissionRequest): RequiredAccess[] {
  const { operation, group, resource, namespace, name, object, oldObject } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return [];
  const [before, after] = [annotationsOf(oldObject), annotationsOf(object)];
  const changed = ANNOTATIONS.find((key) => before.get(key) !== after.get(key));
  if (changed === undefined) return [];
  const path = keyPath('metadata.annotations', changed);
  const named = name || new ObjectReader(object, '', []).object('metadata').text('name') || '';
  const right = {
    verb: 'publish',
    group,
    resource,
    ...(namespace !== '' && { namespace }),
    ...(named !== '' && { name: named }),
  };
  const message = `${path}: the user may not publish the object: the right to "publish" it is required`;
  return [{ rights: [{ right, violation: { rule: 'publish', path, value: after.get(changed), message } }] }];
}

function annotationsOf(object: unknown): ReadonlyMap<string, string> {
  return new ObjectReader(object, '', []).object('metadata').textMap('annotations');
}
