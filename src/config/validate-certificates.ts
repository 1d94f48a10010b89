/**
 * The rule on client certificates: the listener asks for them either as what every connection needs, or as what says
 * who somebody is. Demanded of everybody, none could say that somebody has another credential.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';

export function validateCertificates({ server, authentication }: StonegateConfiguration): Finding[] {
  if (authentication.clientCertificates === undefined || server.tls.clientCAFile === undefined) return [];
  return [
    {
      path: ['authentication', 'clientCertificates'],
      message:
        'expected either this or server.tls.clientCAFile, found both: with the latter every client must show a certificate, which then says nothing about who it is',
    },
  ];
}
