/**
 * Invitations at the portal. The secret of a link goes from its URL into a sealed cookie at once, so that it
 * is in no address, history or referrer of a page, and survives signing in.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Invitations } from '../members/feature.ts';
import { invitationSpecSchema, type Target } from '../members/invitation-v1alpha1.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, cookieOf, INVITATION_COOKIE, setCookie } from './cookies.ts';
import type { Flash } from './flash.ts';
import { formatTime } from './pages/account-page.ts';
import { invitationPage } from './pages/invitation-page.ts';
import { noInvitation, notFound } from './problem.ts';
import { INVITATION, INVITATION_LINK, type PortalRequest } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';
import { mistake, userPage, type Visit } from './user-page.ts';

const SEALED_FOR = 'invitation';
/** Characters: more than a secret has. */
const MAX_SECRET = 256;

/** Says nothing of the invitation before the user has signed in, not even whether there is one. */
export function followInvitation({ path }: PortalRequest, context: PortalContext): PortalResponse {
  if (context.invitations === undefined) throw notFound();
  const secret = path.slice(INVITATION_LINK.length, INVITATION_LINK.length + MAX_SECRET);
  return seeOther(INVITATION, [setCookie(INVITATION_COOKIE, context.sealer.seal(secret, SEALED_FOR))]);
}

export const INVITATION_PAGE = userPage<Invitations>({
  path: INVITATION,
  sourceOf: ({ invitations }) => invitations,
  async show({ source, identity, change, request, context, ...visit }) {
    const { username } = context.identities.describe(identity).user;
    const offer =
      visit.flash === undefined
        ? await orNone(source.show(identity, secretOf(request, context), change))
        : undefined;
    return invitationPage({ ...visit, username, offer });
  },
  async act(_form, { source, identity, change, request, context }) {
    const { namespace, role, team } = await orNone(
      source.accept(identity, secretOf(request, context), change),
    );
    return {
      text:
        team === undefined
          ? `You have the role ${role} in the namespace ${namespace} now.`
          : `You are in the team ${team} now.`,
    };
  },
  headers: [clearCookie(INVITATION_COOKIE)],
});

/** @throws PortalProblem without a link */
function secretOf({ exchange }: PortalRequest, { sealer }: PortalContext): string {
  const sealed = cookieOf(exchange.headers, INVITATION_COOKIE);
  const secret = sealed && sealer.open(sealed, SEALED_FOR);
  if (!secret) throw noInvitation();
  return secret;
}

/** One page for every reason why a user cannot accept an invitation. */
async function orNone<T>(offer: Promise<T>): Promise<T> {
  try {
    return await offer;
  } catch (error) {
    throw error instanceof StatusError && error.http === 404 ? noInvitation() : error;
  }
}

/** Invitations to the target that were not accepted; undefined if the portal has none. */
export async function invitationsTo(
  isTarget: (target: Partial<Record<'namespace' | 'team', string>>) => boolean,
  { identity, context }: Pick<Visit<unknown>, 'identity' | 'context'>,
) {
  const listed = await context.invitations?.list(identity);
  return listed?.filter(
    ({ spec, status: { state } }) => isTarget(spec) && (state === 'open' || state === 'refused'),
  );
}

/** @returns undefined if the form is of another kind */
export async function actOnInvitations(
  form: URLSearchParams,
  target: Target,
  { identity, context: { invitations }, change }: Pick<Visit<unknown>, 'identity' | 'context' | 'change'>,
): Promise<Flash | undefined> {
  const action = form.get('do');
  if (action !== 'invite' && action !== 'withdraw') return undefined;
  if (invitations === undefined) throw notFound();
  if (action === 'withdraw') {
    await invitations.withdraw(identity, form.get('id') ?? '', change);
    return { text: 'The invitation is withdrawn.' };
  }
  const email = (form.get('email') ?? '').trim();
  const { data: spec } = invitationSpecSchema.safeParse({ ...target, ...(email !== '' && { email }) });
  if (spec === undefined) throw mistake('Enter an e-mail address such as alice@example.com, or none.');
  const { status } = await invitations.invite(identity, spec, change);
  const until = formatTime(Date.parse(status.expirationTimestamp));
  return {
    text: `Copy this link now, and send it to the user: it is not shown again. It counts once, until ${until}.`,
    ...(status.link !== undefined && { secret: status.link }),
  };
}
