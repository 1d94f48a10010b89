/**
 * The dashboard of tenants. No metric has a tenant as label, since users could create series: the audit log
 * says which tenant it is.
 */
import { type Dashboard, perSecond, series, sumBy } from './dashboard.ts';

const REFUSALS = 'stonegate_refusals_total';

export const TENANTS: Dashboard = {
  name: 'tenants',
  title: 'Tenants',
  description:
    'Limits that tenants reach, and requests that leave their tenant. Which tenant it is, the audit log says: docs/operations.md.',
  rows: [
    {
      title: 'Limits',
      panels: [
        {
          title: 'Requests over a limit',
          description:
            'TenantRateExceeded: rate, queue or memory of a tenant. StreamLimitExceeded: open streams.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond(REFUSALS, ['code'], 'code=~"TenantRateExceeded|StreamLimitExceeded"'),
              legend: '{{code}}',
            },
          ],
        },
        {
          title: 'Open streams',
          description: 'limits.streams bounds them for each user and tenant of a process.',
          unit: 'short',
          queries: [
            {
              expr: sumBy(['instance', 'kind'], series('stonegate_requests_active', 'kind!="short"')),
              legend: '{{instance}} {{kind}}',
            },
          ],
        },
        {
          title: 'Requests of too many namespaces',
          description: 'Lists and watches of all namespaces over access.maxNamespaces.',
          unit: 'reqps',
          queries: [{ expr: perSecond(REFUSALS, [], 'code="TooManyNamespaces"'), legend: 'refused' }],
        },
      ],
    },
    {
      title: 'Isolation',
      panels: [
        {
          title: 'Requests outside the own tenant',
          description:
            'Paths of other tenants, paths that no tenant may use, and scopes that all would share.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond(
                REFUSALS,
                ['code'],
                'code=~"TenantForbidden|PathForbidden|ClusterScopeForbidden"',
              ),
              legend: '{{code}}',
            },
          ],
        },
        {
          title: 'Users without a tenant',
          description: 'Domains and claims that map to no tenant: add them to tenancy.domains.',
          unit: 'reqps',
          queries: [{ expr: perSecond(REFUSALS, [], 'code="TenantUnknown"'), legend: 'refused' }],
        },
        {
          title: 'Identities that were refused',
          description: 'Names that belong to the cluster or to another source, and impersonation.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond(REFUSALS, ['code'], 'code=~"Identity.*|GroupsOverflow|ImpersonationForbidden"'),
              legend: '{{code}}',
            },
          ],
        },
      ],
    },
  ],
};
