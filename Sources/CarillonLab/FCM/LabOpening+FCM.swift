extension LabOpening {
    /// Starts FCM with the token endpoint beside it, and tells each the other's place.
    func startFCM() async throws -> LabAddresses.FCM? {
        guard let wanted = configuration.fcm else { return nil }
        guard let account = wanted.accounts.first else {
            throw LabError.invalid("The lab's FCM needs a service account at least.")
        }
        let core = core
        let server = HTTP2Server(
            connections: sockets.connections,
            tls: try tls.context(protocols: ["h2"]),
            streams: wanted.streams
        ) { peer in
            FCMDesk(core: core, peer: peer, tokenLifetime: wanted.tokenLifetime)
        }
        let url = try await sockets.open(server, port: wanted.port)
        let tokenURL = url + FCMDesk.tokenPath
        core.withState { $0.fcm.tokenURL = tokenURL }
        var projects: [LabAddresses.FCM.Project] = []
        for (index, account) in wanted.accounts.enumerated() {
            let name = index == 0 ? "service-account.json" : "service-account-\(index + 1).json"
            let file = try folder.write(account.json(tokenURI: tokenURL), to: name, isSecret: true)
            projects.append(LabAddresses.FCM.Project(projectID: account.projectID, serviceAccountFile: file))
        }
        return LabAddresses.FCM(
            url: url,
            tokenURL: tokenURL,
            projectID: account.projectID,
            serviceAccountFile: projects[0].serviceAccountFile,
            projects: projects
        )
    }
}
