/** The dashboard of the process. */
import { type Dashboard, increase, series } from './dashboard.ts';

const EACH = '{{instance}}';

export const PROCESS: Dashboard = {
  name: 'process',
  title: 'Process',
  description: 'What each instance uses, and what an operator has to renew.',
  rows: [
    {
      title: 'Resources',
      panels: [
        {
          title: 'CPU',
          description: 'Cores in use.',
          unit: 'short',
          queries: [{ expr: `rate(${series('process_cpu_seconds_total')}[$__rate_interval])`, legend: EACH }],
        },
        {
          title: 'Memory',
          description: 'Resident memory, and the part that is the heap.',
          unit: 'bytes',
          queries: [
            { expr: series('process_resident_memory_bytes'), legend: `${EACH} resident` },
            { expr: series('nodejs_heap_size_used_bytes'), legend: `${EACH} heap` },
          ],
        },
        {
          title: 'File descriptors',
          description: 'Open ones, as a part of the limit.',
          unit: 'percentunit',
          queries: [{ expr: `${series('process_open_fds')} / ${series('process_max_fds')}`, legend: EACH }],
        },
      ],
    },
    {
      title: 'Event loop',
      panels: [
        {
          title: 'Event loop lag',
          description: 'How long an event waited at the time of the scrape.',
          unit: 's',
          queries: [{ expr: series('nodejs_eventloop_lag_seconds'), legend: EACH }],
        },
        {
          title: 'Garbage collection',
          description: 'Part of the time that it takes, by kind.',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (instance, kind) (rate(${series('nodejs_gc_duration_seconds_sum')}[$__rate_interval]))`,
              legend: `${EACH} {{kind}}`,
            },
          ],
        },
        {
          title: 'Open handles',
          description: 'Sockets, timers and other resources of Node.',
          unit: 'short',
          queries: [{ expr: `sum by (type) (${series('nodejs_active_resources')})`, legend: '{{type}}' }],
        },
      ],
    },
    {
      title: 'To renew and to repair',
      panels: [
        {
          title: 'Certificates',
          description:
            'Time until the first certificate of a file expires, by the field that names the file.',
          unit: 'dtdurations',
          queries: [
            {
              expr: `min by (field) (${series('stonegate_certificate_not_after_timestamp_seconds')}) - time()`,
              legend: '{{field}}',
            },
          ],
          isNumber: true,
        },
        {
          title: 'Configuration in use',
          description: '1: the files on disk are in use. 0: the last reload failed.',
          unit: 'short',
          queries: [{ expr: series('stonegate_last_reload_successful'), legend: EACH }],
        },
        {
          title: 'Audit log',
          description:
            'Events that were lost; failing is 1 if events wait in memory until they can be written.',
          unit: 'short',
          queries: [
            { expr: `max(${series('stonegate_audit_log_failing')})`, legend: 'failing' },
            {
              expr: increase('stonegate_audit_events_lost_total', []),
              legend: 'lost',
            },
          ],
        },
        {
          title: 'Reloads',
          description: 'Of configuration, certificates and keys, by result.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_reloads_total', ['result']),
              legend: '{{result}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Informers: what is listed and watched at the API server',
      panels: [
        {
          title: 'Age',
          description: 'Since the last proof that a resource is current; of the oldest instance.',
          unit: 's',
          queries: [
            {
              expr: `max by (informer, resource) (${series('stonegate_informer_age_seconds')})`,
              legend: '{{informer}} {{resource}}',
            },
          ],
        },
        {
          title: 'Lists',
          description: 'By reason. Many with no-bookmarks: the API server sends no bookmarks.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_informer_lists_total', ['informer', 'reason']),
              legend: '{{informer}} {{reason}}',
            },
          ],
        },
        {
          title: 'Failed lists and watches',
          description:
            'refused: apply what stonegate manifests rbac prints; docs/reference/metrics.md explains the others.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_informer_failures_total', ['informer', 'resource', 'failure']),
              legend: '{{informer}} {{resource}} {{failure}}',
            },
          ],
        },
      ],
    },
  ],
};
