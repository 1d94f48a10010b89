/**
 * Rights that a user must hold for a request, which follow from the request alone. Objects with the
 * annotation `multi-tenancy.k8s.io/published` are copied to tenants, so setting, changing or removing it
 * needs the verb `publish` on the object.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import type { ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import { PUBLISHED, PUBLISHED_POLICY } from '../../kubernetes/published-objects.ts';
import { readerOf } from './object-reader.ts';
import { keyPath, type Violation, violation } from './violation.ts';

/** A right that a user needs. If it has no name, the right is for every object of the kind. */
export type Right = Omit<ResourceAttributes, 'tenant'>;

export interface RequiredRight {
  readonly right: Right;
  /** Why the request is refused without it. */
  readonly violation: Violation;
}

export interface RequiredAccess {
  /** A user with this right needs none of the others. */
  readonly sufficient?: Right;
  /** Each of them is needed. */
  readonly rights: readonly RequiredRight[];
}

export interface Judgement {
  /** Why the request is refused; empty if it is allowed. */
  readonly violations: readonly Violation[];
  /** The rights that the user must hold. */
  readonly required: readonly RequiredAccess[];
}

export const NO_OBJECTION: Judgement = { violations: [], required: [] };

/** @param request about an object that may be published; also through a subresource */
export function requiredToPublish(request: AdmissionRequest): RequiredAccess[] {
  const { operation, group, resource, namespace, object, oldObject } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return [];
  const [before, after] = [readerOf(oldObject), readerOf(object)].map((one) => one.object('metadata'));
  const annotations = [before, after].map((metadata) => metadata?.textMap('annotations'));
  const changed = [PUBLISHED, PUBLISHED_POLICY].find(
    (key) => annotations[0]?.get(key) !== annotations[1]?.get(key),
  );
  if (changed === undefined) return [];
  const name = request.name || (after?.text('name') ?? '');
  const right = {
    verb: 'publish',
    group,
    resource,
    ...(namespace !== '' && { namespace }),
    ...(name !== '' && { name }),
  };
  const path = keyPath('metadata.annotations', changed);
  const why = 'the user may not publish the object: the right to "publish" it is required';
  return [{ rights: [{ right, violation: violation('publish', path, undefined, why) }] }];
}
