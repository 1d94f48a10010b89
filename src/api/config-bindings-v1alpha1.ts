/**
 * `bindings` of the configuration after loading: how Keystone's projects and roles become namespaces and rolebindings.
 */
import type { Milliseconds, UpstreamCredential } from './config-fields-v1alpha1.ts';

/** What a Keystone role becomes: a ClusterRole, or a Role that somebody keeps in each namespace. */
export type RoleTarget = { readonly clusterRole: string } | { readonly role: string };

/** For one project or one domain, in place of what is configured for all; absent fields stay as they are for all. */
export interface BindingsException {
  /** Nothing is made for it; what was made stays until the operator removes it. */
  readonly ignore?: boolean;
  /** Of a project only. */
  readonly namespace?: string;
  /** Keystone role → what it becomes there; roles not listed are as for all. */
  readonly roles?: Readonly<Record<string, RoleTarget>>;
}

export interface BindingsConfiguration {
  readonly provision: 'none' | 'onRequest' | 'periodic';
  /** From the end of one periodic run to the next; on request, until a project is looked at again. */
  readonly interval: Milliseconds;
  /** Of provisioning alone, never the impersonator's. Required unless `provision` is none and `sync` never runs. */
  readonly credential?: UpstreamCredential;
  /** With `%n` (project name), `%i` (project id) and `%d` (id of the project's domain). */
  readonly namespaceFormat: string;
  readonly roles: Readonly<Record<string, RoleTarget>>;
  /** Whether `stonegate:read` and its like, and the basic-user role, are made and kept as they should be. */
  readonly createRoles: boolean;
  /** `spec.storageClusterId` of the tenants that are made (arktos), `0` to `63`. */
  readonly storageClusterID: string;
  /** Whom a RoleBinding names: the group of the project and role, or, as k8s-keystone-auth does, each user. */
  readonly subjects: 'groups' | 'users';
  /** By project id. */
  readonly projects: Readonly<Record<string, BindingsException>>;
  /** By domain id. */
  readonly domains: Readonly<Record<string, BindingsException>>;
  readonly ignore: {
    /** Names; ids go into `projects` and `domains`. */
    readonly projectNames: readonly string[];
    readonly roles: readonly string[];
    /** User ids (`subjects: users`). */
    readonly users: readonly string[];
  };
  /** The share of existing bindings, 0 to 1, beyond which a run deletes nothing and asks for `--force`. */
  readonly maxDeletedShare: number;
}
