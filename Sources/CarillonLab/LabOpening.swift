import NIOCore

/// Opens the services of a lab, one by one.
struct LabOpening {
    let configuration: LabConfiguration
    let core: LabCore
    let tls: LabTLS
    let folder: LabFolder
    let sockets: LabSockets

    /// A service of HTTP/1.1; `desk` answers at once.
    func open(
        port: Int,
        usesTLS: Bool,
        _ desk: @escaping @Sendable (HTTP1Request) -> HTTP1Conduct
    ) async throws -> String {
        let context = usesTLS ? try tls.context(protocols: ["http/1.1"]) : nil
        let server = HTTP1Server(connections: sockets.connections, tls: context) { request, loop in
            loop.makeSucceededFuture(desk(request))
        }
        return try await sockets.open(server, port: port)
    }

    func startWebPush(_ origin: @escaping @Sendable () -> String) async throws -> LabAddresses.WebPush? {
        guard let wanted = configuration.webPush else { return nil }
        let desk = WebPushDesk(core: core, names: configuration.names, origin: origin)
        return LabAddresses.WebPush(
            url: try await open(port: wanted.port, usesTLS: true, desk.decide),
            applicationServerKey: wanted.vapid.applicationServerKey
        )
    }

    func startControl(_ addresses: @escaping @Sendable () -> LabAddresses?) async throws -> String? {
        guard let port = configuration.controlPort else { return nil }
        let desk = ControlDesk(core: core, addresses: addresses)
        let server = HTTP1Server(connections: sockets.connections, tls: nil) { request, loop in
            desk.decide(request, on: loop)
        }
        return try await sockets.open(server, port: port)
    }
}
