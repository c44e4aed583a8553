import Cipher
import Core
import Nostr
import Push

/// The database of registered devices, their accounts and lists.
///
/// Safe to call from any thread. When a call returns, its changes are on disk. The caller owns the ``MatchIndex`` that
/// ``load(signals:languages:from:)`` creates and updates it with ``update(_:from:each:)``. All errors thrown are
/// ``RegistryStoreError``s or the store's own.
package final class Registry: Sendable {
    package let store: RegistryStore
    /// The keys that registrations name and are encrypted to.
    package let keys: RouterKeys
    /// Whether all values are sealed under the newest root.
    package let isResealed: Bool
    /// Internal, because extensions in other files need it.
    let now: @Sendable () -> Timestamp
    let accessControl: AccessControl
    // Internal, because extensions in other files need them.
    let secrets: DeviceSecrets
    let writer: RegistryWriter
    private let registrations: Registrations
    private let identityLists: IdentityLists
    private let accountLists: AccountLists
    private let ingressDevices: IngressDevices
    private let targetAdoption: ChosenTargetAdoption
    private let editor: PreferenceEditor
    private let index: IndexSource
    private let platforms: CurrentPlatforms

    /// Opens the registry in `store`.
    ///
    /// `identity` is the router's key pair: registrations are encrypted to it, and it opens the sealed secrets.
    /// `platforms` are the descriptions of the loaded transports. `check` and `checkSignal` validate new registrations.
    ///
    /// The closures run on the thread of the change and must return quickly. `changed` receives accounts and roots
    /// whose ``watchedAccount(_:)``, ``partners(of:)`` or ``rootsOfInterest()`` changed, after the change is on disk.
    /// `accessChanged` receives the access rules, first during this call and then after each change. `pushCode`
    /// receives codes to push to targets of other accounts. Throws a ``RegistryStoreError`` if the store belongs to
    /// another identity.
    package init(
        store: RegistryStore,
        identity: KeyPair,
        limits: RegistrationPolicy.Limits = RegistrationPolicy.Limits(),
        now: @escaping @Sendable () -> Timestamp,
        random: @escaping RandomBytes = SecureRandom.bytes,
        platforms: PlatformCatalog = PlatformCatalog(),
        accessMode: AccessMode = .open,
        accessRules: [AccessRule] = [],
        accessChanged: @escaping @Sendable (AccessList) -> Void = { _ in },
        changed: @escaping @Sendable (Set<PublicKey>) -> Void = { _ in },
        check: @escaping PlatformCheck,
        checkSignal: @escaping SignalCheck = { _ in nil },
        pushCode: @escaping @Sendable (TargetCodeRequest) -> Void = { _ in }
    ) throws {
        self.store = store
        self.now = now
        let own = try store.claim(for: identity)
        let keys = own.keys
        self.keys = keys
        isResealed = own.ring.roots.count == 1
        let vault = try TokenVault(own.ring, random: random)
        let policy = RegistrationPolicy(keys: keys.names, limits: limits)
        let current = CurrentPlatforms(platforms)
        self.platforms = current
        let access = AccessControl(
            store: store,
            mode: accessMode,
            configured: accessRules,
            changed: accessChanged,
            now: now
        )
        accessControl = access
        let feeds = IndexFeeds()
        let admission = DeviceRegistrar(vault: vault, platforms: current, policy: policy, access: access)
        let reader = RegistrationReader(
            policy: policy,
            keys: keys,
            platforms: current,
            check: check,
            checkSignal: checkSignal
        )
        secrets = DeviceSecrets(store: store, vault: vault, keys: keys, platforms: current) {
            access.list.isBlocked($0, for: $1)
        }
        accountLists = AccountLists(store: store, hash: vault.followedHash) {
            policy.isPlausible($0, now: now())
        }
        writer = RegistryWriter(
            store: store,
            secrets: secrets,
            lists: accountLists,
            indexes: feeds,
            changed: changed,
            pushCode: pushCode
        )
        registrations = Registrations(
            store: store,
            writer: writer,
            reader: reader,
            admission: admission,
            access: access,
            now: now
        )
        identityLists = IdentityLists(store: store, writer: writer, reader: reader, admission: admission, now: now)
        index = IndexSource(
            store: store,
            feeds: feeds,
            secrets: secrets,
            access: access,
            lists: identityLists,
            writer: writer,
            now: now
        )
        ingressDevices = IngressDevices(
            store: store,
            vault: vault,
            secrets: secrets,
            platforms: current,
            check: check,
            now: now
        )
        editor = PreferenceEditor(
            vault: vault,
            platforms: current,
            access: access,
            secrets: secrets,
            checkSignal: checkSignal
        )
        try access.load()
        targetAdoption = ChosenTargetAdoption(store: store, vault: vault)
        if !store.isForReading { try targetAdoption.run(platforms) }
    }

    /// Replaces the platforms by which registrations are read, as after a reload of the plugins.
    package func replacePlatforms(with catalog: PlatformCatalog) throws {
        platforms.replace(with: catalog)
        if !store.isForReading { try targetAdoption.run(catalog) }
    }

    // MARK: Registrations

    /// Applies a registration event (kind 10062 or 30062) whose signature was verified. `isListed`: it came from an
    /// allowed network.
    package func apply(_ event: Event, isListed: Bool = false) throws -> RegistrationResult {
        try apply([event], listed: isListed ? [event.id] : []).first ?? .notForUs
    }

    /// Applies events in order, in one transaction, and returns one result for each. `listed` are those from allowed
    /// networks.
    package func apply(_ events: [Event], listed: Set<EventID> = []) throws -> [RegistrationResult] {
        try store.portions(of: events).flatMap { try registrations.apply($0, listed: listed) }
    }

    /// Ends the registrations that an author's deletion names. A deletion of everything also ends what other keys
    /// registered for that author. Its signature must have been verified, and a request to vanish must be for this
    /// relay.
    ///
    /// Returns how many registrations ended; nil if the deletion is dated too far ahead.
    package func apply(_ deletion: Deletion) throws -> Int? { try registrations.apply(deletion) }

    /// Whether `author` has an account here, or is the signer or root of a registration that is current or waits.
    package func hasRegistered(_ author: PublicKey) throws -> Bool {
        try store.readOnce { try $0.hasRegistered(author) }
    }

    // MARK: Devices

    /// Returns the current address of `device`; nil if it is no longer registered.
    package func address(of device: DeviceID) throws -> DeviceAddress? { try secrets.address(of: device) }

    /// The key that a notification to `device` is sealed to: the registration's `sealing_key`, else the keys of its
    /// subscription, else the key that signed it. Nil if it is no longer registered.
    package func sealingKey(of device: DeviceID) throws -> SealingKey? { try secrets.sealingKey(of: device) }

    /// The keys for sealing a notification to `device`: ``sealingKey(of:)``, and the router's key that it is registered
    /// to. Nil if it is no longer registered, or the router no longer has that key.
    package func sealing(of device: DeviceID) throws -> DeviceSealing? { try secrets.sealing(of: device) }

    /// The number of devices registered to each of the router's keys, by key number.
    package func devicesByRouterKey() throws -> [Int: Int] { try store.read { try $0.devicesByRouterKey() } }

    /// The whole registration of `device`; nil if it is no longer registered.
    package func content(of device: DeviceID) throws -> RegistrationContent? { try secrets.content(of: device) }

    /// The language that a device's app registered, such as `de`; empty if it is not known. Usually cached while the
    /// router sends pushes to the device.
    package func language(of device: DeviceID) throws -> String { try secrets.language(of: device) }

    /// The language and region that a device's app registered; nil if they are not known. Reads the disk.
    package func locale(of device: DeviceID) throws -> LanguageTag? { try secrets.locale(of: device) }

    /// The preferences of a device for pace and filters; nil if it is no longer registered.
    package func preferences(of device: DeviceID) throws -> DevicePreferences? { try secrets.preferences(of: device) }

    /// Changes a device's preferences until its app registers again. Returns false if the account has no such device.
    /// Throws a ``RegistrationError`` for values that a registration may not contain.
    package func change(_ device: DeviceID, of account: PublicKey, by change: PreferenceChange) throws -> Bool {
        try writer.change { rows, changes in try editor.apply(change, to: device, of: account, rows, &changes) }
    }

    /// Removes a device at an operator's request. A later event can register it again; the same event cannot. Returns
    /// false if there is no such device.
    @discardableResult
    package func remove(_ device: DeviceID) throws -> Bool {
        try writer.change { rows, changes in
            guard let registered = try rows.device(device) else { return false }
            try rows.evict(registered, &changes)
            return true
        }
    }

    /// Removes a device that its push service reported as gone, unless it was registered again after `registeredAt`,
    /// the time in the address that was tried. The same event does not restore it, but a later one does.
    package func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws {
        try writer.change { rows, changes in
            guard let tried = try rows.device(device), tried.registeredAt <= registeredAt else { return }
            try rows.evict(tried, &changes)
        }
    }

    /// The devices whose token no push service has accepted yet. Clients can invent tokens, and pushes to invented
    /// tokens cost the operator's reputation with the service.
    package func unproven(among devices: [DeviceID]) throws -> Set<DeviceID> {
        guard !devices.isEmpty else { return [] }
        return try store.read { rows in try Set(devices.filter { try !rows.isProven($0) }) }
    }

    /// Records that a push service accepted pushes for these devices. When the registry is full, devices that never got
    /// a push are removed first.
    package func markProven(_ devices: [DeviceID]) throws {
        let registered = devices.filter { $0.rawValue >= 0 }
        if !registered.isEmpty {
            try store.write {
                try $0.markProven(registered)
            } afterwards: {
                secrets.forget(registered)
            }
        }
        // The devices of the sealed ingress are not replicated.
        let met = devices.filter { $0.rawValue < 0 }
        if !met.isEmpty {
            try store.writeHere {
                try $0.markProven(met)
            } afterwards: {
                secrets.forget(met)
            }
        }
    }

    // MARK: Lists

    /// Takes the newest list of relays (kind 10002, NIP-65) or of devices and message relays (kind 10050) of an account
    /// or of a root identity related to an account. Its signature must have been verified.
    package func learn(_ event: Event) throws -> ListResult {
        try learn([event]).first ?? .ignored
    }

    /// Takes lists in order, in one transaction, and returns one result for each. Writes only if a list is new.
    package func learn(_ events: [Event]) throws -> [ListResult] {
        try store.portions(of: events).flatMap { try identityLists.learn($0) }
    }

    /// Whether the newest known contact list of `account` names `author`; nil if none is known. Reads the disk at most
    /// once, and not for recently used accounts.
    package func isFollowed(_ author: PublicKey, by account: PublicKey) throws -> Bool? {
        try accountLists.isFollowed(author, by: account)
    }

    /// Whether a contact list with that mark would be the newest of `account`, and is not dated too far ahead.
    package func wantsContactList(of account: PublicKey, _ mark: SlotMark) throws -> Bool {
        try accountLists.wantsContactList(of: account, mark)
    }

    /// Stores contact lists (kind 3) of accounts in one transaction and keeps the newest of each account. Their
    /// signatures must have been verified. Ignores lists of other authors and lists that ``wantsContactList(of:_:)``
    /// rejects.
    package func learnFollowed(from lists: [Event]) throws {
        for portion in store.portions(of: lists) { try accountLists.learnFollowed(from: portion) }
    }

    /// Forgets all contact lists, because lists that are no longer updated become outdated.
    package func forgetFollowed() throws { try accountLists.forgetFollowed() }

    /// The newest known list of that kind of `account`; nil if none is known. Reads the disk at most once, and not for
    /// recently used accounts.
    package func recipientList(_ kind: Kind, of account: PublicKey) throws -> RecipientList? {
        try accountLists.list(kind, of: account)
    }

    /// Whether a list with that mark would be the newest of its kind and `account`, and is not dated too far ahead.
    package func wantsRecipientList(_ kind: Kind, of account: PublicKey, _ mark: SlotMark) throws -> Bool {
        try accountLists.wants(kind, of: account, mark)
    }

    /// Stores lists of accounts in one transaction and keeps the newest of each kind and account. Their signatures must
    /// have been verified. Ignores lists of other authors and lists that ``wantsRecipientList(_:of:_:)`` rejects.
    package func learnRecipientLists(from events: [Event]) throws {
        for portion in store.portions(of: events) { try accountLists.learn(from: portion) }
    }

    /// Forgets lists of other kinds, because lists that are no longer updated become outdated.
    package func forgetRecipientLists(but kinds: Set<Kind>) throws { try accountLists.forget(exceptKinds: kinds) }

    // MARK: Devices of the sealed ingress

    /// Returns for each of `tokens` whether a push can be sent to it, and its device number. A new token gets a number.
    package func admit(
        _ tokens: [IngressToken],
        limits: IngressDeviceLimits = IngressDeviceLimits()
    ) throws -> [IngressDecision] {
        try ingressDevices.admit(tokens, limits: limits)
    }

    /// The address of a device of the sealed ingress; nil if it is gone or forgotten.
    package func ingressAddress(of device: DeviceID) throws -> DeviceAddress? { try secrets.ingressAddress(of: device) }

    /// Notes that a push service reported a device as gone, and deletes its address.
    package func markIngressDeviceGone(_ device: DeviceID) throws { try ingressDevices.markGone(device) }

    // MARK: The index

    /// The changes of all accounts, for the index that contains all of them.
    package var allChanges: IndexFeed { index.allChanges }

    /// Loads all devices into an index. `signals` are those that the operator's rules raise in addition to the
    /// well-known ones, `languages` those that the rules are written in.
    ///
    /// Writers wait until it is loaded. Later changes arrive through ``update(_:from:each:)``. Each feed may have one
    /// index at a time. Default for `feed`: the feed of all accounts.
    package func load(
        signals: [Signal] = [],
        languages: [LanguageTag] = [],
        from feed: IndexFeed? = nil
    ) throws -> MatchIndex {
        try index.load(signals, languages, from: feed ?? allChanges)
    }

    /// Brings an index up to date, and removes expired former keys for messages. Returns the number of applied changes.
    /// Cheap if there are none.
    ///
    /// `each` is called with each change after it was applied to the index.
    @discardableResult
    package func update(
        _ index: inout MatchIndex,
        from feed: IndexFeed? = nil,
        each: (IndexChange) -> Void = { _ in }
    ) -> Int {
        self.index.update(&index, from: feed ?? allChanges, each: each)
    }

    /// Prepares an index for other rules, with their `signals` and `languages`. Pending changes are applied first, and
    /// passed to `each`.
    package func rename(
        signals: [Signal],
        languages: [LanguageTag] = [],
        in index: inout MatchIndex,
        from feed: IndexFeed? = nil,
        each: (IndexChange) -> Void = { _ in }
    ) throws {
        try self.index.rename(signals, languages, in: &index, from: feed ?? allChanges, each: each)
    }
}
