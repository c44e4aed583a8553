import Nostr

extension Performance {
    /// Has the owner's phones publish their registrations at the router's socket; `name` is what they are together.
    mutating func register(_ phones: [Phone], _ name: String, of owner: Person) async throws {
        let key = try await router.advertisement().pubkey
        screen.heading("\(name) of \(owner.name) register with the router")
        for phone in phones {
            let answer = try await router.publish(try phone.registration(by: owner, with: key))
            try require(answer, "the registration of the \(phone.name)")
            screen.text("\(phone.name): \(phone.introduction)")
        }
    }

    /// Has a phone that never talks to the router itself register by NIP-46 at the outside relay, where it also finds the router.
    mutating func register(_ phone: Phone, of owner: Person, by invitation: BunkerURL) async throws {
        screen.heading("A phone of \(owner.name) registers at an outside relay, by NIP-46")
        screen.text("\(phone.name): \(phone.introduction)")

        let key = invitation.signer
        let advertisement = try await relay.advertisement(of: key)
        guard let meetingPoint = invitation.relays.first, advertisement.values(of: "nip46_relay").contains(meetingPoint)
        else { throw DemoError("the router's advertisement does not name the relay as one for NIP-46") }
        screen.step("the router's kind 10067", "found at the relay, which it names for NIP-46")

        var session = try await RemoteSession(
            with: key,
            at: try await RelayClient(url: meetingPoint, name: "the relay")
        )
        let connected = try await session.request("connect", [key.hex] + (invitation.secret.map { [$0] } ?? []))
        screen.step("connect", connected, "with the secret of a bunker:// URL")
        let answer = try await session.request("get_public_key")
        guard answer == key.hex else { throw DemoError("get_public_key: expected the router's key, found \(answer)") }
        screen.step("get_public_key", "\(answer.prefix(8))...", "the key that signed the kind 10067")
        let registration = try phone.registration(by: owner, with: key)
        let registered = try await session.request("register", [String(decoding: registration.json, as: UTF8.self)])
        screen.step("register", registered, "a kind 10062, which no relay gets to see")
    }

    func require(_ answer: RelayClient.Answer, _ what: String) throws {
        guard answer.isAccepted else { throw DemoError("\(what) is refused: \(answer.message)") }
    }
}
