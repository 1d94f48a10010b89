/** The proxies that are programs of Node: the yardstick, and http-proxy. */
import { CONTENDER_CORE, startProgram } from '../processes.ts';
import type { Contender } from './contender.ts';

export const passThrough: Contender = {
  name: 'pass-through',
  start: ({ site, upstream, http2 = false }) =>
    startProgram(
      CONTENDER_CORE,
      'pass-through',
      site.upstream[upstream],
      site.certFile,
      site.keyFile,
      site.caFile,
      http2 ? 'http2' : 'http1',
    ),
};

export const httpProxy: Contender = {
  name: 'http-proxy',
  start: ({ site, upstream }) =>
    startProgram(
      CONTENDER_CORE,
      'http-proxy',
      site.upstream[upstream],
      site.certFile,
      site.keyFile,
      site.caFile,
    ),
};
