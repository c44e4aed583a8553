import Core
import Nostr
import Push
import Synchronization

/// A check that a transport serves an address and accepts its form. Called before a registration is accepted.
///
/// Throws a ``RegistrationError`` if not. Any other error refuses the registration too, but its message is not passed
/// on, because it might quote the token.
package typealias PlatformCheck = @Sendable (DeviceAddress) throws -> Void

/// Validates a signal name in a registration. Returns the expected names if it is unknown, and nil if it is valid.
package typealias SignalCheck = @Sendable (String) -> String?

/// Decrypts and validates registration events. Does not use the store.
struct RegistrationReader: Sendable {
    let policy: RegistrationPolicy
    private let keys: RouterKeys
    private let platforms: CurrentPlatforms
    private let check: PlatformCheck
    private let checkSignal: SignalCheck

    init(
        policy: RegistrationPolicy,
        keys: RouterKeys,
        platforms: CurrentPlatforms,
        check: @escaping PlatformCheck,
        checkSignal: @escaping SignalCheck
    ) {
        self.policy = policy
        self.keys = keys
        self.platforms = platforms
        self.check = check
        self.checkSignal = checkSignal
    }

    /// Returns the draft of a registration that arrived at `arrivedAt`. `wasChecked`: a transport accepted it before.
    func draft(
        of event: Event,
        _ slot: RegistrationSlot,
        _ account: PublicKey,
        arrivedAt: Timestamp,
        wasChecked: Bool = false
    ) throws(RegistrationError) -> RegistrationDraft {
        let name = keys.names.named(by: event.identifier) ?? keys.names.current
        let content = try open(event, as: name.key)
        do throws(RegistrationError) {
            try validate(content.address(registeredAt: arrivedAt))
        } catch {
            guard wasChecked, error.isTemporary else { throw error }
        }
        return RegistrationDraft(
            event: event,
            slot: slot,
            account: account,
            content: content,
            routerKey: name.number,
            arrivedAt: arrivedAt
        )
    }

    /// Returns the draft of a registration that waited; nil if no transport serves it. It then continues to wait,
    /// because that may change.
    func draft(ofWaiting event: Event, arrivedAt: Timestamp) -> RegistrationDraft? {
        guard case .register(let slot, let account)? = try? policy.request(of: event) else { return nil }
        // It was checked on arrival. If the plugin cannot check it again now, the device must not wait forever.
        return try? draft(of: event, slot, account, arrivedAt: arrivedAt, wasChecked: true)
    }

    /// `ourKey` is the router's key that the event names.
    private func open(_ event: Event, as ourKey: PublicKey) throws(RegistrationError) -> RegistrationContent {
        guard let pair = keys.pair(of: ourKey) else { throw .retiredKey(keys.names) }
        let json: String
        do {
            let key = try ConversationKey(secret: pair.secret, public: event.pubkey)
            json = try NIP44.decryptText(event.content, key: key, limit: RegistrationLimits.payload)
        } catch {
            throw .invalid("content: expected NIP-44 version 2, encrypted to \(ourKey.hex)")
        }
        let platforms = platforms.catalog
        let content = try RegistrationContent(json: json, platforms: platforms, checkingSignals: checkSignal)
        try content.check(platforms[content.platform]?.fields ?? [])
        if case .named(let zone) = content.quiet?.zone, !zone.isKnown {
            throw .invalid("registration field `quiet.tz`: expected \(QuietZone.expected)")
        }
        return content
    }

    private func validate(_ address: DeviceAddress) throws(RegistrationError) {
        do {
            try check(address)
        } catch let refusal as RegistrationError {
            throw refusal
        } catch {
            throw .invalid("platform \(address.platform) does not take this registration")
        }
    }
}

/// The platform descriptions of the loaded transports. A reload of the plugins replaces them.
final class CurrentPlatforms: Sendable {
    private let stored: Mutex<PlatformCatalog>

    init(_ catalog: PlatformCatalog) {
        stored = Mutex(catalog)
    }

    var catalog: PlatformCatalog { stored.withLock(\.self) }

    func replace(with catalog: PlatformCatalog) { stored.withLock { $0 = catalog } }
}
