import Notifications
import Synchronization

/// The devices of the sealed ingress, whose tokens come in URLs. They belong to no account and nothing matches them.
extension Registry {
    /// Says of each of `tokens` whether a push can be sent to it, and by which number; a token that is met for the first time gets
    /// one. Throws a ``RegistryStoreError``.
    package func admit(
        _ tokens: [IngressToken],
        limits: IngressDeviceLimits = IngressDeviceLimits()
    ) throws -> [IngressAdmission] {
        let now = now()
        let handles = tokens.map { vault.handle(of: $0.name) }
        let known = try store.read { rows in try handles.map { try rows.ingressDevice(of: $0) } }
        let admissions = zip(tokens, known).map { token, known in
            known.map { $0.admission(limits, now: now) } ?? (isValid(token) ? nil : .invalid)
        }
        guard admissions.contains(nil) else { return admissions.compactMap { $0 } }
        let (settled, _) = try store.write { rows in
            var evicted: [DeviceID] = []
            let settled = try tokens.indices.map { index -> IngressAdmission in
                if admissions[index] == .invalid { return .invalid }
                return try settle(tokens[index], handles[index], limits, now: now, rows, &evicted)
            }
            return (settled, evicted)
        } afterwards: { _, evicted in
            addresses.withLock { $0.forget(evicted) }
        }
        return settled
    }

    /// Where a device of the ingress is; nil when it is gone or forgotten. Throws a ``RegistryStoreError``.
    package func ingressAddress(of device: DeviceID) throws -> DeviceAddress? {
        try address(of: device) { try $0.sealedIngressAddress(of: device) }
    }

    /// Remembers that its push service called a device gone, and forgets where it is.
    package func markIngressDeviceGone(_ device: DeviceID) throws {
        let now = now()
        try store.write { rows in
            try rows.markIngressDeviceGone(device, now: now)
        } afterwards: {
            addresses.withLock { $0.forget([device]) }
        }
    }

    private func settle(
        _ token: IngressToken,
        _ handle: [UInt8],
        _ limits: IngressDeviceLimits,
        now: Int64,
        _ rows: RegistryRows,
        _ evicted: inout [DeviceID]
    ) throws -> IngressAdmission {
        if let known = try rows.ingressDevice(of: handle) {
            if let admission = known.admission(limits, now: now) { return admission }
            try rows.useIngressDevice(known.device, now: now)
            if known.goneAt != nil {
                try putAddress(token, of: known.device, rows)
                try rows.setProven(known.device, false)
            }
            return .admitted(known.device)
        }
        if try rows.ingressDeviceCount() >= limits.devices {
            guard let forgotten = try rows.evictIngressDevice(unusedSince: now - limits.keptFor) else { return .full }
            evicted.append(forgotten)
        }
        let device = try rows.addIngressDevice(handle: handle, now: now)
        try rows.setProven(device, false)
        try putAddress(token, of: device, rows)
        return .admitted(device)
    }

    private func putAddress(_ token: IngressToken, of device: DeviceID, _ rows: RegistryRows) throws {
        let sealed = try vault.seal(AddressCodec.encode(token.address), of: device, for: .address)
        try rows.putIngressAddress(of: device, sealed)
    }

    /// A transport that is missing is the operator's to mend, and says nothing of the token.
    private func isValid(_ token: IngressToken) -> Bool {
        do {
            try check(token.address)
            return true
        } catch let refusal as RegistrationRefusal {
            return !refusal.isInvalid
        } catch {
            return true
        }
    }
}

extension IngressDeviceRow {
    /// What follows from the row as it is; nil when it has to be written.
    fileprivate func admission(_ limits: IngressDeviceLimits, now: Int64) -> IngressAdmission? {
        if let goneAt, now - goneAt < limits.goneFor, goneAt <= now { return .gone }
        return goneAt == nil && now - usedAt < limits.exactness ? .admitted(device) : nil
    }
}
