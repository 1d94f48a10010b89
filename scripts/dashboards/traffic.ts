/** The dashboard of traffic and latency. */
import { type Dashboard, percentiles, perSecond, series, sumBy } from './dashboard.ts';

const REQUESTS = 'stonegate_requests_total';
const DURATION = 'stonegate_request_duration_seconds';

export const TRAFFIC: Dashboard = {
  name: 'traffic',
  title: 'Traffic and latency',
  description: 'What clients request, what they get, and how long it takes.',
  rows: [
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by status',
          description:
            'Status 0: the client closed the connection before the response. Statuses of the API server are included.',
          unit: 'reqps',
          queries: [{ expr: perSecond(REQUESTS, ['status']), legend: '{{status}}' }],
        },
        {
          title: 'Requests by verb',
          description: 'Watches are counted when they end.',
          unit: 'reqps',
          queries: [{ expr: perSecond(REQUESTS, ['verb']), legend: '{{verb}}' }],
        },
        {
          title: 'Error ratio',
          description:
            'Responses with a status of 500 or higher among all. The alerts on the error budget use it.',
          unit: 'percentunit',
          queries: [
            {
              expr: `${perSecond(REQUESTS, [], 'status=~"5.."')} / ${perSecond(REQUESTS, [])}`,
              legend: 'errors',
            },
          ],
        },
      ],
    },
    {
      title: 'Latency',
      panels: [
        {
          title: 'Duration of requests',
          description: 'Until the end of the response, without long-running requests.',
          unit: 's',
          queries: percentiles(DURATION, []),
        },
        {
          title: 'Duration by verb',
          description: 'The 99th percentile.',
          unit: 's',
          queries: percentiles(DURATION, ['verb']).slice(1),
        },
        {
          title: 'Time of the API server',
          description: 'Until its response begins. The rest of the duration is Stonegate and the body.',
          unit: 's',
          queries: percentiles('stonegate_backend_duration_seconds', [], 'backend="upstream"'),
        },
      ],
    },
    {
      title: 'Open at this time',
      panels: [
        {
          title: 'Requests in flight',
          description: 'Open watches, logs and connections into pods by kind, and short requests.',
          unit: 'short',
          queries: [{ expr: sumBy(['kind'], series('stonegate_requests_active')), legend: '{{kind}}' }],
        },
        {
          title: 'Connections of clients',
          description: 'By listener. The HorizontalPodAutoscaler can count them.',
          unit: 'short',
          queries: [
            { expr: sumBy(['listener'], series('stonegate_connections_open')), legend: '{{listener}}' },
          ],
        },
        {
          title: 'Streams that Stonegate ended',
          description: 'By reason; docs/lifecycle.md explains each.',
          unit: 'reqps',
          queries: [{ expr: perSecond('stonegate_streams_ended_total', ['reason']), legend: '{{reason}}' }],
        },
      ],
    },
    {
      title: 'Refusals',
      panels: [
        {
          title: 'Requests that Stonegate refused',
          description: 'By the code of docs/reference/errors.md.',
          unit: 'reqps',
          queries: [{ expr: `${perSecond('stonegate_refusals_total', ['code'])} > 0`, legend: '{{code}}' }],
        },
      ],
    },
  ],
};
