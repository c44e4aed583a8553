import Logging
import Nostr
import Registry
import Synchronization

extension RemoteSigningService {
    private static let wrongSecret = "the secret is unknown or was used by another client: ask for a new bunker:// URL"

    /// Does what `request`, which came in `event`, asks for.
    func answer(
        _ request: RemoteSigningRequest,
        in event: Event,
        now: Int64,
        register: (Event) -> RegistrationAnswer
    ) -> RemoteSigningResponse.Outcome {
        guard let method = RemoteMethod(rawValue: request.method) else { return .error(RemoteMethod.unknown) }
        let client = event.pubkey
        if method != .connect {
            guard desk.withLock({ $0.hasSession(client, now: now) }) else { return .error("no session: connect first") }
            noteUse(by: client, now: now)
        }
        switch method {
        case .connect: return connect(request, event, now: now)
        case .ping: return .result("pong")
        case .publicKey: return .result(identity.publicKey.hex)
        case .switchRelays: return .result(relays)
        case .register: return self.register(request, from: client, now: now, register: register)
        case .logout: return logout(event)
        }
    }

    private func connect(_ request: RemoteSigningRequest, _ event: Event, now: Int64) -> RemoteSigningResponse.Outcome {
        let client = event.pubkey
        let (hasSession, session, others) = desk.withLock {
            (
                $0.hasSession(client, now: now), $0.session(of: client, connectedAt: event.createdAt, now: now),
                $0.inTheWay(of: client)
            )
        }
        // A client with a session may connect as often as it likes; what is written down of that is limited.
        guard !hasSession || desk.withLock({ $0.mayWrite(now: now) }) else { return .result("ack") }
        do {
            var digest: [UInt8]?
            // Clients connect at every start, some with the secret they once had and some without. Who has a session needs none.
            if let secrets, !hasSession {
                digest = try secrets.secrets().digest(matching: request.params.dropFirst().first ?? "")
                guard digest != nil else { return .error(Self.wrongSecret) }
            }
            guard try registry.open(session, secret: digest, dropping: others) else { return .error(Self.wrongSecret) }
            desk.withLock { $0.opened(session, dropping: others) }
            if !hasSession { logger.debug("A client opened a session") }
            return .result("ack")
        } catch {
            logger.error("A session could not be opened", metadata: ["error": "\(error)"])
            return .error("the session could not be opened: try again later")
        }
    }

    private func register(
        _ request: RemoteSigningRequest,
        from client: PublicKey,
        now: Int64,
        register: (Event) -> RegistrationAnswer
    ) -> RemoteSigningResponse.Outcome {
        guard let json = request.params.first, let event = try? Event(json: Array(json.utf8)),
            event.kind == .pushRegistration || event.kind == .addressablePushRegistration
        else {
            return .error("invalid: expected one parameter, the JSON of a signed event of kind 10062 or 30062")
        }
        guard desk.withLock({ $0.mayRegister(client, now: now) }) else {
            return .error(MachineReadablePrefix.rateLimited.message("slow down"))
        }
        switch register(event) {
        case .accepted: return .result("ack")
        case .refused(let reason): return .error(reason)
        }
    }

    private func logout(_ event: Event) -> RemoteSigningResponse.Outcome {
        guard desk.withLock({ $0.mayClose(event.pubkey, by: event.createdAt) }) else {
            return .error("this logout is older than the session")
        }
        do {
            try registry.closeRemoteSession(of: event.pubkey)
            desk.withLock { $0.closed(event.pubkey) }
            logger.debug("A client closed its session")
            return .result("ack")
        } catch {
            logger.error("A session could not be closed", metadata: ["error": "\(error)"])
            return .error("the session could not be closed: try again later")
        }
    }
}
