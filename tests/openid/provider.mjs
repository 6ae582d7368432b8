// A conforming OpenID provider for one client, on loopback. It prints its issuer, and runs until its input ends.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [clientId, clientSecret, service] = process.argv.slice(2);
const groups = ["readers"];
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${service}/auth/openid/callback`],
        post_logout_redirect_uris: [`${service}/`],
        backchannel_logout_uri: `${service}/auth/openid/logout`,
        backchannel_logout_session_required: true,
        grant_types: ["authorization_code", "refresh_token"],
      },
    ],
    claims: { openid: ["sub", "groups"], profile: ["preferred_username", "given_name"] },
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
    pkce: { required: () => true },
    findAccount: async (ctx, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, groups, preferred_username: sub, given_name: "Ada" }),
    }),
    // The service is on loopback too, which the provider's own check of addresses refuses.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  });
  server.on("request", (request, response) => {
    if (request.url === "/set-groups/ops") {
      groups.splice(0, groups.length, "ops");
      response.end();
      return;
    }
    provider.callback()(request, response);
  });
  console.log(issuer);
});
process.stdin.on("end", () => process.exit(0)).resume();
