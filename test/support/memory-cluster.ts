/** An API server in memory for tests of provisioning, in which objects are found by their kind. */
import {
  KINDS,
  type KubernetesObject,
  type ObjectKind,
  type Place,
  type StoredObject,
} from '../../src/kubernetes/kubernetes-object.ts';
import type { Objects } from '../../src/kubernetes/objects.ts';
import { createMemoryObjects } from './memory-objects.ts';

export interface ObjectReference extends Place {
  readonly kind: ObjectKind;
  readonly name: string;
}

export interface MemoryCluster extends Objects {
  /** All objects by `Kind/tenant/namespace/name`. */
  readonly objects: ReadonlyMap<string, { readonly object: StoredObject; readonly place: Place }>;
  /** Creates an object, as another client would; an existing one is deleted first. */
  put(object: KubernetesObject | StoredObject, place: Place): void;
  /** Deletes an object and, for a namespace, everything in it. */
  drop(reference: ObjectReference): void;
  /** Called with the verb before each call; an error that it throws makes the call fail. */
  before: (verb: string, reference: ObjectReference) => void;
  /** The writes so far: `create namespaces …`. */
  readonly writes: string[];
}

export function createMemoryCluster(): MemoryCluster {
  const memory = createMemoryObjects();
  const self: MemoryCluster = {
    ...memory,
    get objects() {
      return new Map(
        memory.all().map(({ place, object }) => {
          const { tenant = '', namespace = '' } = place;
          return [[object.kind, tenant, namespace, object.metadata.name].join('/'), { object, place }];
        }),
      );
    },
    put(object, place) {
      const kind = KINDS[kindIn(object.kind)];
      memory.drop(kind, place, object.metadata.name);
      memory.put(kind, place, object);
    },
    drop: ({ kind, name, ...place }) => memory.drop(KINDS[kind], place, name),
    before: () => {},
  };
  memory.before = (verb, { resource }, place, name) => {
    const kind = kinds.find((one) => KINDS[one].resource === resource);
    if (kind !== undefined) self.before(verb, { kind, name, ...place });
  };
  return self;
}

const kinds = [
  'Tenant',
  'Namespace',
  'ResourceQuota',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
] as const;

function kindIn(name: string): ObjectKind {
  const kind = kinds.find((one) => one === name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}
