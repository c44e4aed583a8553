import Console
import Listening
import RouterConfiguration
import Rules
import WebIngress

/// Where clients come in.
struct DoorAPI {
    let configuration: Configuration
    let listeners: ListenerCounts

    var operations: [APIOperation] {
        [
            .report(
                .get,
                "/v1/doors",
                for: .scope(.read),
                .now,
                "Where clients come in, how many are there, and what was refused since the start, by the limit it met."
            ) { [doors] _ in DoorList(doors: doors) }
        ]
    }

    private var doors: [DoorList.Door] {
        let relay = configuration.relay
        var doors = [DoorList.Door("socket", relay.host, relay.port, listeners.socket)]
        if let ingress = configuration.sealedIngress?.web, let counts = listeners.ingress {
            doors.append(DoorList.Door("ingress", ingress.host, ingress.port, counts))
        }
        if let api = configuration.api?.console, let counts = listeners.api {
            doors.append(DoorList.Door("api", api.host, api.port, counts))
        }
        return doors
    }
}

/// Our own doors.
struct DoorList: OperatorAnswer, Equatable {
    struct Door: Codable, Sendable, Equatable {
        /// `socket` (relay socket and sign-up), `ingress` (sealed ingress) or `api`.
        var name: String
        /// As the configuration has it; port 0: one that the system chose.
        var listen: String
        /// Open at this moment.
        var connections: Int
        /// Since the start, by the limit.
        var refused: [String: UInt64]

        init(_ name: String, _ host: String, _ port: Int, _ counts: LimitCounts) {
            self.name = name
            listen = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            connections = counts.openConnections
            refused = Dictionary(counts.refused.map { ($0.key.rawValue, $0.value) }) { $1 }
        }
    }

    var doors: [Door]

    var text: String { doors.map { "\($0.name) \($0.listen): \($0.connections) connections" }.joined(separator: "\n") }
}
