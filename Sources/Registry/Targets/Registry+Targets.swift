import Notifications

extension Registry {
    /// How long no further code is pushed to a target, in milliseconds: the one that was is still good.
    private static let quietAfterCode: Int64 = 3_600_000

    /// What a registration finds where it wants to be pushed to.
    struct Claim {
        /// What becomes of others with the same token or target.
        var ruling: RegistrationDesk.TokenRuling
        /// Whose the target is, where the registration has to wait for a code; nil: it need not.
        var owner: TargetHolder?
    }

    /// Weighs a registration against others with the same token, or with the same chosen target (`target`, by its
    /// handle).
    func claim(
        _ draft: RegistrationDraft,
        _ handle: [UInt8],
        _ target: [UInt8]?,
        now: Int64,
        _ rows: RegistryRows
    ) throws -> Claim {
        let content = draft.content
        guard let target else {
            // A target that somebody chose moves by no other way than its own, also not under another platform's name.
            let holders = try rows.holders(of: handle, outside: draft.slot).filter { holder in
                try holder.account == draft.account || !rows.hasChosenTarget(holder.device)
            }
            return Claim(ruling: desk.rule(on: holders, mark: draft.mark, shared: content.shared, now: now))
        }
        let holders = try rows.holders(ofTarget: target)
        let others = holders.filter { $0.device.account != draft.account && $0.device.slot != draft.slot }
        let own = holders.filter { $0.device.account == draft.account }
        let owner = others.first { $0.isConfirmed }
        let hasCode = content.code.map { vault.isCode($0, for: target, at: now) } ?? false
        var ruling = desk.rule(
            on: own.map(\.device).filter { $0.slot != draft.slot },
            mark: draft.mark,
            shared: content.shared,
            now: now
        )
        if hasCode, !content.shared, case .take(let former) = ruling {
            ruling = .take(from: former + others.filter(\.isConfirmed).map(\.device))
        }
        let isIts = owner == nil || hasCode || own.contains { $0.isConfirmed }
        return Claim(ruling: ruling, owner: isIts ? nil : owner)
    }

    /// Has a code pushed to a target for whoever reads there, unless one was of late.
    func askForCode(
        of target: [UInt8],
        from owner: TargetHolder,
        now: Int64,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws {
        // A clock that was put back is no reason for silence.
        if let askedAt = owner.askedAt, abs(now - askedAt) < Self.quietAfterCode { return }
        try rows.noteCodePushed(to: owner.device.device, at: now)
        let (code, expiresAt) = vault.code(for: target, at: now)
        changes.codes.append(
            TargetCodeRequest(device: owner.device.device, route: owner.route, code: code, expiresAt: expiresAt)
        )
    }

    /// The handle of a chosen target.
    func handle(of target: ChosenTarget) -> [UInt8] { vault.handle(of: target.name) }

    /// A registry that knew nothing of chosen targets has them in sealed addresses only. Whoever has one by then keeps
    /// it.
    func bringTargetsOut() throws {
        guard try !store.write({ try $0.areTargetsOut() }) else { return }
        try store.write { rows in
            for device in try rows.devicesWithoutTargets(where: ChosenTarget.isChosen) {
                // One that cannot be opened keeps nobody else from being served.
                guard let sealed = try rows.sealedAddress(of: device),
                    let bytes = try? vault.open(sealed.bytes, of: device, for: .address),
                    let address = AddressCodec.decode(bytes),
                    let target = ChosenTarget(platform: address.platform, token: address.token)
                else { continue }
                try rows.putTarget(handle(of: target), of: device, isConfirmed: true)
            }
            try rows.noteTargetsAreOut()
        }
    }
}

extension RegistryRows {
    fileprivate func areTargetsOut() throws -> Bool {
        try one("SELECT 1 FROM meta WHERE name = 'chosen targets'") != nil
    }

    fileprivate func noteTargetsAreOut() throws {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('chosen targets', 'out')")
    }
}
