extension LabOpening {
    func startUnifiedPush(_ origin: @escaping @Sendable () -> String) async throws -> String? {
        guard let wanted = configuration.unifiedPush else { return nil }
        let desk = NtfyDesk(
            core: core,
            service: .unifiedPush,
            oversize: wanted.oversize,
            access: NtfyAccess(),
            origin: origin
        )
        return try await open(port: wanted.port, usesTLS: wanted.usesTLS, desk.decide)
    }

    func startNtfy(_ origin: @escaping @Sendable () -> String) async throws -> LabAddresses.Ntfy? {
        guard let wanted = configuration.ntfy else { return nil }
        let access = NtfyAccess(allowsAnonymous: wanted.allowsAnonymous, tokens: wanted.accessTokens)
        let desk = NtfyDesk(core: core, service: .ntfy, oversize: wanted.oversize, access: access, origin: origin)
        return LabAddresses.Ntfy(
            url: try await open(port: wanted.port, usesTLS: wanted.usesTLS, desk.decide),
            accessToken: wanted.accessTokens.keys.sorted().first
        )
    }

    func startGotify() async throws -> LabAddresses.Gotify? {
        guard let wanted = configuration.gotify else { return nil }
        return LabAddresses.Gotify(
            url: try await open(port: wanted.port, usesTLS: wanted.usesTLS, GotifyDesk(core: core).decide),
            token: wanted.applications.first?.token
        )
    }
}
