/**
 * The rules on `authentication.tokenReview` that concern the tenancy mode.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';

export function validateTokenReview({ authentication, tenancy }: StonegateConfiguration): Finding[] {
  const { tokenReview } = authentication;
  if (tokenReview === undefined) return [];
  const path = ['authentication', 'tokenReview', 'tenant'];
  if (tenancy.mode === 'shared' && tokenReview.tenant === undefined)
    return [
      {
        path,
        message: 'is required in shared mode: the tokens of an ordinary cluster name no tenant',
        because: [['tenancy', 'mode']],
      },
    ];
  if (tokenReview.tenant === 'all')
    return [{ path, message: 'expected another tenant: "all" stands for every tenant and is none' }];
  return [];
}
