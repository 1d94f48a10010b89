/** The dashboard of identity backends and caches. */
import { type Dashboard, percentiles, perSecond } from './dashboard.ts';

const LOOKUPS = 'stonegate_cache_lookups_total';
const CALLS = 'stonegate_backend_duration_seconds';

const ratioOfHits = (tier: string): string =>
  `${perSecond(LOOKUPS, [], `tier="${tier}",result="hit"`)} / ${perSecond(LOOKUPS, [], `tier="${tier}"`)}`;

export const IDENTITY: Dashboard = {
  name: 'identity',
  title: 'Identity backends and caches',
  description: 'Whether credentials can be validated, and how often a backend is asked for it.',
  rows: [
    {
      title: 'Backends',
      panels: [
        {
          title: 'Calls',
          description: 'To Keystone, issuers, Redis and the API server.',
          unit: 'reqps',
          queries: [{ expr: perSecond(`${CALLS}_count`, ['backend']), legend: '{{backend}}' }],
        },
        {
          title: 'Failed calls',
          description: 'refused: the backend does not accept Stonegate’s own credential.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond(`${CALLS}_count`, ['backend', 'result'], 'result!="ok"'),
              legend: '{{backend}} {{result}}',
            },
          ],
        },
        {
          title: 'Duration of calls',
          description: 'The 99th percentile by backend.',
          unit: 's',
          queries: percentiles(CALLS, ['backend']).slice(1),
        },
      ],
    },
    {
      title: 'Caches',
      panels: [
        {
          title: 'Look-ups',
          description: 'By tier of the cache and result. stale: served because the backend is down.',
          unit: 'reqps',
          queries: [{ expr: perSecond(LOOKUPS, ['tier', 'result']), legend: '{{tier}} {{result}}' }],
        },
        {
          title: 'Hit ratio',
          description: 'Of the memory of each process, and of Redis for what the memory does not have.',
          unit: 'percentunit',
          queries: [
            { expr: ratioOfHits('memory'), legend: 'memory' },
            { expr: ratioOfHits('redis'), legend: 'redis' },
          ],
        },
        {
          title: 'Errors of Redis',
          description: 'Requests continue without it: each process then validates tokens itself.',
          unit: 'reqps',
          queries: [{ expr: perSecond(LOOKUPS, [], 'tier="redis",result="error"'), legend: 'errors' }],
        },
      ],
    },
    {
      title: 'Credentials',
      panels: [
        {
          title: 'Requests by authenticator',
          description: 'none: no user was authenticated.',
          unit: 'reqps',
          queries: [
            { expr: perSecond('stonegate_requests_total', ['authenticator']), legend: '{{authenticator}}' },
          ],
        },
        {
          title: 'Refused credentials',
          description: 'By code: invalid, missing, ambiguous or too many; or the backend is down.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond(
                'stonegate_refusals_total',
                ['code'],
                'code=~"Credential.*|KeystoneUnavailable|IssuerUnavailable"',
              ),
              legend: '{{code}}',
            },
          ],
        },
        {
          title: 'Unknown credentials over the limit',
          description:
            'Refused before a backend was called: over the limit of the source, or over the total.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond('stonegate_unknown_credentials_limited_total', ['reason']),
              legend: '{{reason}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Webhooks',
      panels: [
        {
          title: 'Reviews for API servers',
          description: 'TokenReview and SubjectAccessReview by result.',
          unit: 'reqps',
          queries: [
            {
              expr: perSecond('stonegate_webhook_reviews_total', ['kind', 'result']),
              legend: '{{kind}} {{result}}',
            },
          ],
        },
        {
          title: 'Admission reviews',
          description: 'By result. limited: over admission.limits, and the failure policy applies.',
          unit: 'reqps',
          queries: [
            { expr: perSecond('stonegate_admission_reviews_total', ['result']), legend: '{{result}}' },
          ],
        },
      ],
    },
  ],
};
