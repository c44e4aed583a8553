import Core
import Nostr

/// The rules for accepting registration events (contrib/docs/registration.md). Pure: uses no store, key or clock.
package struct RegistrationPolicy: Sendable {
    /// The limits that an operator may set.
    package struct Limits: Hashable, Sendable {
        /// How far in the future an event may be dated. Clients' clocks are wrong by minutes; a date in next year would
        /// lock its slot until then.
        package var futureTolerance: Duration
        /// The maximum number of devices of one account.
        package var devicesPerAccount: Int
        /// The maximum number of devices of all accounts. For another one, the router removes a device that never got a
        /// push, without a tombstone.
        package var devices = 5_000_000
        /// The sustained number of registrations that one key may sign per hour. Apps register at each start.
        package var registrationsPerKeyPerHour = 60
        /// The maximum burst of registrations of one key.
        package var registrationBurst = 200
        /// The maximum number of registrations that wait for a root identity: of all, for one root, and of one signer.
        package var waiting = 10_000
        package var waitingPerRoot = 32
        package var waitingPerSigner = 32

        package init(futureTolerance: Duration = .minutes(10), devicesPerAccount: Int = 32) {
            self.futureTolerance = futureTolerance
            self.devicesPerAccount = devicesPerAccount
        }
    }

    /// The operation that an event requests.
    package enum Request: Hashable, Sendable {
        /// Read the content, and put a device of `account` into the slot.
        case register(RegistrationSlot, account: PublicKey)
        /// Empty the slot.
        case deregister(RegistrationSlot)

        package var slot: RegistrationSlot {
            switch self {
            case .register(let slot, _), .deregister(let slot): slot
            }
        }
    }

    /// The result of parsing an event.
    package enum Reading: Hashable, Sendable {
        case request(Request)
        case done(RegistrationResult)
    }

    /// The supported version of the registration protocol. Registrations that name no version have this one.
    package static let protocolVersion = "1"

    let keys: RouterKeyNames
    package let limits: Limits

    package init(keys: RouterKeyNames, limits: Limits = Limits()) {
        self.keys = keys
        self.limits = limits
    }

    private var ourKey: String { keys.current.key.hex }

    /// Whether a `created_at` is not too far in the future: such an event would win against every later one until then.
    func isPlausible(_ createdAt: Int64, now: Timestamp) -> Bool {
        createdAt >= 0 && Timestamp(seconds: createdAt) <= now + limits.futureTolerance
    }

    /// Checks everything that needs no stored state. Only the first tag of a name counts (NIP-01).
    package func read(_ event: Event, now: Timestamp) -> Reading {
        do throws(RegistrationError) {
            guard let request = try request(of: event) else { return .done(.notForUs) }
            guard isPlausible(event.createdAt, now: now) else {
                throw .invalid("created_at: expected at most \(limits.futureTolerance.seconds) seconds ahead of now")
            }
            if case .register = request, let name = keys.named(by: event.identifier), keys.isRetired(name, at: now) {
                throw .retiredKey(keys)
            }
            if case .register = request, let tag = event.tags.first(where: { $0.first == "protocol_version" }),
                tag.count < 2 || tag[1] != Self.protocolVersion
            {
                throw .unsupported("tag protocol_version: expected \(Self.protocolVersion), which this router speaks")
            }
            // The size of tags is limited, because events are stored and served to clients.
            guard event.tags.reduce(0, { $1.reduce($0 + 1) { $0 + $1.utf8.count + 1 } }) <= RegistrationLimits.tags
            else { throw .invalid("tags: expected at most \(RegistrationLimits.tags) bytes in all") }
            return .request(request)
        } catch {
            return .done(.refused(error))
        }
    }

    /// The operation that an event requests, whatever its date. Nil if it is not for this router.
    func request(of event: Event) throws(RegistrationError) -> Request? {
        guard event.kind == .pushRegistration || event.kind == .addressablePushRegistration else { return nil }
        guard let tag = event.tags.first(where: { $0.first == "d" }), tag.count > 1, !tag[1].isEmpty else {
            throw .invalid("tag d: expected our public key, \(ourKey); found no such tag")
        }
        let parts = tag[1].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard try isOurs(parts[0]) else { return nil }
        var slot = RegistrationSlot(author: event.pubkey)
        if parts.count > 1 {
            slot.deviceID = String(parts[1])
            guard (1...RegistrationSlot.deviceIDLimit).contains(slot.deviceID.utf8.count),
                Alphabet.name.spells(slot.deviceID)
            else {
                let expected = "a device id of 1 to \(RegistrationSlot.deviceIDLimit) of \(Alphabet.name)"
                throw .invalid("tag d: expected \(expected) after our key and the colon")
            }
        }
        if event.content.isEmpty { return .deregister(slot) }
        guard let claim = event.tags.first(where: { $0.first == "root_identity" }) else {
            return .register(slot, account: event.pubkey)
        }
        guard claim.count > 1, let root = PublicKey(hex: claim[1]) else {
            throw .invalid("tag root_identity: expected a public key of 64 lower-case hexadecimal digits")
        }
        return .register(slot, account: root)
    }

    /// Whether the `d` of a registration starts with our key. Throws if the spelling differs from the one that relays
    /// match.
    private func isOurs(_ key: Substring) throws(RegistrationError) -> Bool {
        let ours = keys.all.map(\.key.hex)
        if ours.contains(String(key)) { return true }
        let spelled: (hex: String?, spelling: String) =
            key.hasPrefix("npub")
            ? (NIP19.publicKey(npub: String(key))?.hex, "as npub") : (key.lowercased(), "with upper-case digits")
        guard let hex = spelled.hex, ours.contains(hex) else { return false }
        throw .invalid("tag d: expected our public key as \(hex); found it \(spelled.spelling)")
    }

    /// Compares a request with stored state. Returns nil if it may proceed.
    func weigh(_ request: Request, mark: SlotMark, against account: AccountState) -> RegistrationResult? {
        if let known = account.mark {
            if mark == known {
                guard case .register = request, account.isEnded else { return .duplicate }
                return .ended
            }
            if !mark.replaces(known) { return .outdated }
        } else if let floor = account.floor, mark.createdAt <= floor {
            return .outdated
        }
        if case .register = request, !account.isRegistered, account.devices >= limits.devicesPerAccount {
            return .refused(
                .blocked("this account has \(limits.devicesPerAccount) devices already: deregister one of them first")
            )
        }
        return nil
    }

    /// The decision about other slots that hold the same token of the same platform and app.
    enum TokenDecision: Hashable, Sendable {
        /// The slots of these devices lose the token; empty if no other slot has it.
        case take(from: [RegisteredDevice])
        /// Another slot keeps the token, because its registration is later. A late arrival must not undo that.
        case leave
    }

    /// A phone keeps its token when another user signs in: the newest registration gets it, unless it sets `shared`.
    /// Any client that knows a token may claim it, because the token does not name its owner. The owner's next
    /// registration claims it back, because future dates count from arrival. Until then the owner gets no pushes.
    /// Claiming a token reveals no token, and the outcome for one device never deletes another.
    func rule(on holders: [RegisteredDevice], mark: SlotMark, shared: Bool, now: Timestamp) -> TokenDecision {
        if shared { return .take(from: []) }
        let claimedAt = min(mark.createdAt, now.seconds)
        if holders.contains(where: { $0.claimedAt > claimedAt }) { return .leave }
        return .take(from: holders)
    }
}

/// The stored state of a slot and an account before an event for them is applied.
struct AccountState: Hashable, Sendable {
    /// The newest event that the slot has seen.
    var mark: SlotMark?
    /// Whether the slot holds a device now.
    var isRegistered = false
    /// Whether the event of ``mark`` emptied the slot, so it has no current registration.
    var isEnded = false
    /// The number of devices of the account, including this slot's if that belongs to the account.
    var devices = 0
    /// Events for a slot without a mark must be newer than this, in seconds since 1970: when an author has more marks
    /// of former devices than are kept, the oldest ones are folded into it.
    var floor: Int64?
}
