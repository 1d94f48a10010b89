/**
 * `webhook` of the configuration after loading: reviews answered in place of k8s-keystone-auth.
 */
import type { Milliseconds } from './config-fields-v1alpha1.ts';

export interface ConfigMapReference {
  readonly namespace: string;
  readonly name: string;
}

/** Where a policy or synchronisation rules are kept. */
export type WebhookSource = { readonly file: string } | { readonly configMap: ConfigMapReference };

export interface WebhookConfiguration {
  /** `host:port`. */
  readonly bind: string;
  /** Where reviews are posted. */
  readonly path: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCAFile: string };
  /** `legacy`: the bare name in Keystone, which users of two domains may share. */
  readonly usernames: 'qualified' | 'legacy';
  /** Absent: no access review is answered with yes. */
  readonly policy?: WebhookSource;
  /** Absent: nothing is mapped, nothing is made. */
  readonly sync?: WebhookSource;
  /** From the end of one look at a ConfigMap to the next. */
  readonly configMapInterval: Milliseconds;
}
