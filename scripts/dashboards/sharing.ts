/** The dashboard of cross-tenant policies and published objects. */
import { type Dashboard, increase, series } from './dashboard.ts';

export const SHARING: Dashboard = {
  name: 'sharing',
  title: 'Policies and published objects',
  description: 'Who may enter other tenants, and what the system copies to tenants.',
  rows: [
    {
      title: 'Cross-tenant policies',
      panels: [
        {
          title: 'Policies',
          description: 'In force by form; not-ready: grants nothing; the condition or the log says why.',
          unit: 'short',
          queries: [{ expr: `min by (form) (${series('stonegate_policies')})`, legend: '{{form}}' }],
        },
        {
          title: 'Runs',
          description: 'Runs that make roles and bindings in tenants what policies say, by result.',
          unit: 'short',
          queries: [{ expr: increase('stonegate_policies_runs_total', ['result']), legend: '{{result}}' }],
        },
        {
          title: 'Changed roles and bindings',
          description: 'Created, updated and deleted in tenants.',
          unit: 'short',
          queries: [{ expr: increase('stonegate_policies_changes_total', ['action']), legend: '{{action}}' }],
        },
        {
          title: 'Ended streams of guests',
          description: 'Streams that ended because no policy allows them any more.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_streams_ended_total', ['kind'], 'reason="policy"'),
              legend: '{{kind}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Published objects',
      panels: [
        {
          title: 'Runs',
          description: 'By result; docs/reference/metrics.md explains each.',
          unit: 'short',
          queries: [{ expr: increase('stonegate_publishing_runs_total', ['result']), legend: '{{result}}' }],
        },
        {
          title: 'Changed copies',
          description: 'Created, updated, replaced and deleted in tenants and namespaces.',
          unit: 'short',
          queries: [
            { expr: increase('stonegate_publishing_changes_total', ['action']), legend: '{{action}}' },
          ],
        },
        {
          title: 'Since the last success',
          description: 'Since a run without failures.',
          unit: 'dtdurations',
          queries: [
            {
              expr: `time() - max(${series('stonegate_publishing_last_success_timestamp_seconds')} > 0)`,
              legend: 'last success',
            },
          ],
          isNumber: true,
        },
        {
          title: 'Not copied',
          description: 'Of the last run; stonegate publish --dry-run lists conflicts and refusals.',
          unit: 'short',
          queries: [
            { expr: `max(${series('stonegate_publishing_conflicts')})`, legend: 'conflicts' },
            { expr: `max(${series('stonegate_publishing_refusals')})`, legend: 'refusals' },
            { expr: `max(${series('stonegate_publishing_failures')})`, legend: 'failures' },
          ],
        },
      ],
    },
  ],
};
