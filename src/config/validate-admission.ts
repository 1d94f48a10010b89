/**
 * Rules for `admission`: the version of the Pod Security Standards fits the API server.
 */
import { NEWEST_POD_SECURITY_MINOR } from '../api/admission-v1.ts';
import type { AdmissionProcessConfiguration, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding, Path } from './problem.ts';

/** Arktos' API server is one of Kubernetes 1.15. */
const ARKTOS_MINOR = 15;

export function validateAdmission({
  admission,
  tenancy,
}: Pick<StonegateConfiguration, 'admission'> & Pick<AdmissionProcessConfiguration, 'tenancy'>): Finding[] {
  if (admission === undefined) return [];
  const { tenants, ...general } = admission.podSecurity;
  const newest = tenancy.mode === 'arktos' ? ARKTOS_MINOR : NEWEST_POD_SECURITY_MINOR;
  const path = ['admission', 'podSecurity'];
  const rules = [
    { path, rule: general },
    ...Object.entries(tenants).map(([tenant, rule]) => ({ path: [...path, 'tenants', tenant], rule })),
  ];
  return rules.flatMap(({ path, rule }) => [
    ...versionFindings(path, rule.version, newest),
    ...(tenancy.mode === 'shared' &&
    (rule.level ?? 'privileged') !== 'privileged' &&
    (rule.version ?? general.version) === undefined
      ? [
          {
            path: [...path, 'version'],
            message: "is required with a level: the API server's version, or an older one",
          },
        ]
      : []),
  ]);
}

function versionFindings(path: Path, version: string | undefined, newest: number): Finding[] {
  if (version === undefined || Number(version.slice('v1.'.length)) <= newest) return [];
  return [
    {
      path: [...path, 'version'],
      message: `expected at most v1.${newest}, found ${version}: a newer version allows what depends on fields that the API server does not know`,
    },
  ];
}
