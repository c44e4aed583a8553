import Core
import Nostr
import Push

/// Puts a device into its slot, and takes its token or target from other devices as the policy decides.
struct DeviceRegistrar: Sendable {
    /// A registration that waited longer than this counts from the end of its wait: earlier events are not new to its
    /// device.
    private static let promptness: Duration = .minutes(10)
    /// The minimum time between two codes pushed to a target. The earlier code stays valid.
    private static let pauseAfterCode: Duration = .hours(1)

    private let vault: TokenVault
    private let platforms: CurrentPlatforms
    private let policy: RegistrationPolicy
    private let access: AccessControl

    init(vault: TokenVault, platforms: CurrentPlatforms, policy: RegistrationPolicy, access: AccessControl) {
        self.access = access
        self.vault = vault
        self.platforms = platforms
        self.policy = policy
    }

    /// Puts a device into its slot, or returns why not. The caller has checked that its author may act for the account.
    ///
    /// `wasWaiting`: the registration waited in this slot, so its own mark does not count as an earlier event.
    func admit(
        _ draft: RegistrationDraft,
        wasWaiting: Bool = false,
        now: Timestamp,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws -> RegistrationResult {
        let handle = vault.handle(of: draft.content.token)
        let target = ChosenTarget(
            platform: draft.content.platform,
            token: draft.content.token,
            platforms.catalog
        ).map(vault.handle)
        let claim = try claim(draft, handle, target, now: now, rows)
        let tokenDecision = claim.tokenDecision
        var state = try rows.state(of: draft.slot, for: draft.account)
        if wasWaiting {
            state.mark = nil
            state.isEnded = false
            state.floor = nil
        }
        if case .take(let holders) = tokenDecision { state.devices -= holders.count { $0.account == draft.account } }
        let former = try rows.device(in: draft.slot)
        if let former, former.account != draft.account { state.isRegistered = false }
        let request = RegistrationPolicy.Request.register(draft.slot, account: draft.account)
        if let result = policy.weigh(request, mark: draft.mark, against: state) { return result }
        if former == nil, case .take(let holders) = tokenDecision, holders.isEmpty,
            try rows.devices(atLeast: policy.limits.devices)
        {
            guard let unreached = try rows.longestUnreachedDevice() else {
                return .refused(.blocked("this router has as many devices as it takes"))
            }
            // No tombstone is left: the same event may register the device again when its app starts next.
            try rows.deleteEvent(in: unreached.slot)
            try rows.delete(unreached, &changes)
        }
        guard case .take(let holders) = tokenDecision else {
            try rows.clear(draft.slot, leaving: draft.mark, &changes)
            return .superseded
        }
        let isProven = try holders.contains { try rows.isProven($0.device) }
        for holder in holders { try rows.evict(holder, &changes) }
        // A registration under another account is another device, because pushes in flight to this one must not reach
        // the other account. The same applies to a target that another account owns.
        if let former, try former.account != draft.account || (claim.owner != nil && !rows.waitsForCode(former.device))
        {
            try rows.delete(former, &changes)
        }
        if let root = try rows.stopWaiting(in: draft.slot) { changes.keys.insert(root) }
        let device = try put(draft, handle, isProven: isProven, now: now, rows, &changes)
        try rows.putTarget(target, of: device.device, isConfirmed: claim.owner == nil)
        if let owner = claim.owner, let target {
            // To clients the device looks registered, but the router sends no pushes there for this account.
            changes.index.append(.remove(device.device, of: draft.account))
            try askForCode(of: target, from: owner, now: now, rows, &changes)
        } else if access.list.isBlocked(draft.slot.author, for: draft.account) {
            changes.index.append(.remove(device.device, of: draft.account))
        } else {
            changes.index.append(.put(device))
        }
        return state.isRegistered ? .updated(device.device) : .registered(device.device)
    }

    /// `isProven`: a push service accepted its token under another registration.
    private func put(
        _ draft: RegistrationDraft,
        _ handle: [UInt8],
        isProven: Bool,
        now: Timestamp,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws -> IndexedDevice {
        // Must be later than any earlier address of the slot, even if the client's clock moved back.
        let former = try rows.device(in: draft.slot)
        let earliest = former.map { $0.registeredAt + .milliseconds(1) } ?? .epoch
        let isPrompt = now - draft.arrivedAt <= Self.promptness
        let registeredAt = max(earliest, isPrompt ? min(Timestamp(seconds: draft.event.createdAt), now) : now)
        let content = draft.content
        let route = Route(platform: content.platform, app: content.app)
        let known = SignalNames()
        let row = DeviceRow(
            slot: draft.slot,
            account: draft.account,
            mark: draft.mark,
            registeredAt: registeredAt,
            route: try rows.number(of: route),
            mode: content.mode,
            signals: known.set(of: content.signals),
            furtherSignals: content.signals.filter { known[$0].isEmpty }.sorted { $0.rawValue < $1.rawValue },
            locale: content.language,
            hasSealingKey: content.sealingKey != nil,
            routerKey: draft.routerKey
        )
        let isElsewhere = try former.map { try !rows.isRegistered($0.device, on: row.route, handle) } ?? false
        let (device, firstRegisteredAt) = try rows.put(row)
        if former == nil || isElsewhere { try rows.setProven(device, isProven) }
        if isProven { try rows.markReached(device) }
        try rows.putSecrets(
            of: device,
            handle: handle,
            address: try vault.seal(
                AddressCodec.encode(content.address(registeredAt: registeredAt)),
                of: device,
                for: .address
            ),
            content: try vault.seal(Array(content.json.utf8), of: device, for: .content)
        )
        try rows.putPreferences(of: device, sealed: try vault.seal(content.preferences, of: device))
        let partners = Set(content.partners)
        changes.keys.insert(draft.account)
        changes.keys.formUnion(try rows.partners(of: device).symmetricDifference(partners))
        try rows.putPreferences(of: device, relays: content.relays, partners: partners)
        try rows.putEvent(draft.event, in: draft.slot)
        return IndexedDevice(
            account: draft.account,
            device: device,
            firstRegisteredAt: firstRegisteredAt,
            signals: row.signals,
            furtherSignals: row.furtherSignals,
            mode: row.mode,
            locale: row.locale,
            hasSealingKey: row.hasSealingKey,
            route: route,
            routeID: row.route,
            preferences: content.preferences,
            isElsewhere: isElsewhere
        )
    }

    /// A registration's claim to its token or chosen target.
    private struct Claim {
        /// The decision about other devices with the same token or target.
        var tokenDecision: RegistrationPolicy.TokenDecision
        /// The owner of the target, if the registration must wait for a code; nil: no code is needed.
        var owner: TargetHolder?
    }

    /// Weighs a registration against others with the same token, or with the same chosen target (`target`, by its
    /// handle).
    private func claim(
        _ draft: RegistrationDraft,
        _ handle: [UInt8],
        _ target: [UInt8]?,
        now: Timestamp,
        _ rows: RegistryRows
    ) throws -> Claim {
        let content = draft.content
        let route = Route(platform: content.platform, app: content.app)
        guard let target else {
            // A chosen target moves by its code only, even if its platform's description no longer calls it chosen.
            let holders = try rows.holders(of: handle, on: route, outside: draft.slot).filter { holder in
                try holder.account == draft.account || !rows.hasChosenTarget(holder.device)
            }
            return Claim(tokenDecision: policy.rule(on: holders, mark: draft.mark, shared: content.shared, now: now))
        }
        let holders = try rows.holders(ofTarget: target)
        let others = holders.filter { $0.device.account != draft.account && $0.device.slot != draft.slot }
        let own = holders.filter { $0.device.account == draft.account }
        let owner = others.first { $0.isConfirmed }
        let hasCode = content.code.map { vault.isCode($0, for: target, at: now) } ?? false
        var tokenDecision = policy.rule(
            on: own.filter { $0.route == route && $0.device.slot != draft.slot }.map(\.device),
            mark: draft.mark,
            shared: content.shared,
            now: now
        )
        if hasCode, !content.shared, case .take(let former) = tokenDecision {
            tokenDecision = .take(from: former + others.filter { $0.route == route && $0.isConfirmed }.map(\.device))
        }
        let isIts = owner == nil || hasCode || own.contains { $0.isConfirmed }
        return Claim(tokenDecision: tokenDecision, owner: isIts ? nil : owner)
    }

    /// Pushes a code to the target, unless the router sent one recently.
    private func askForCode(
        of target: [UInt8],
        from owner: TargetHolder,
        now: Timestamp,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws {
        // A clock that moved back must not suppress the code.
        if let askedAt = owner.askedAt, max(now - askedAt, askedAt - now) < Self.pauseAfterCode { return }
        try rows.noteCodePushed(to: owner.device.device, at: now)
        let (code, expiresAt) = vault.code(for: target, at: now)
        changes.codes.append(
            TargetCodeRequest(device: owner.device.device, route: owner.route, code: code, expiresAt: expiresAt)
        )
    }
}
