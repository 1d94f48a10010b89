/**
 * `authentication.k8s.io/v1`: Kubernetes' description of a user, and the review with which a user requests
 * it.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/
 */
import { z } from 'zod';
import type { Output } from '../lib/schema-fields.ts';
import type { ObjectMeta } from './meta-v1.ts';

export const userInfoSchema = z.strictObject({
  username: z.string().describe('The name.'),
  uid: z.string().describe('The id; empty if the source has none.'),
  groups: z.array(z.string()).describe('The groups.'),
  extra: z.record(z.string(), z.array(z.string())).describe('Further facts, by key.'),
});

export type UserInfo = Output<typeof userInfoSchema>;
export type Extra = UserInfo['extra'];

export interface SelfSubjectReview {
  readonly kind: 'SelfSubjectReview';
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
  readonly status: { readonly userInfo: Partial<UserInfo> };
}
