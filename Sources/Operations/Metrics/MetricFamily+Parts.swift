import Console
import Delivery
import HTTPLanes
import Pipeline
import PluginHost
import RelayPool
import Streams

/// What parts tell of themselves at a moment, as metrics.
extension MetricFamily {
    static var buildInfo: MetricFamily {
        var family = MetricFamily("carillon_build_info", .gauge, "Which Carillon this is.")
        family.add(1, ["version": Version.current])
        return family
    }

    static func queues(_ queues: [QueueStatus]) -> [MetricFamily] {
        var waiting = MetricFamily(
            "carillon_queue_waiting",
            .gauge,
            "Deliveries that have not found their end, in memory or on disk."
        )
        var share = MetricFamily(
            "carillon_queue_waiting_limit",
            .gauge,
            "Deliveries that may wait before what comes for the queue's devices is gathered."
        )
        var inMemory = MetricFamily("carillon_queue_deliveries", .gauge, "Deliveries in memory; more may wait on disk.")
        var inFlight = MetricFamily("carillon_queue_in_flight", .gauge, "Attempts under way.")
        var retrying = MetricFamily("carillon_queue_retrying", .gauge, "Deliveries in memory that wait for a retry.")
        var paused = MetricFamily(
            "carillon_queue_paused",
            .gauge,
            "Whether the queue attempts nothing, by whom to end it."
        )
        var hosts = MetricFamily(
            "carillon_queue_paused_hosts",
            .gauge,
            "Users' hosts that are left in peace for a while."
        )
        for status in queues.sorted(by: { $0.queue < $1.queue }) {
            let (platform, app) = (status.queue.platform, status.queue.app)
            waiting.add(status.waiting, ["platform": platform, "app": app])
            share.add(status.share, ["platform": platform, "app": app])
            inMemory.add(status.inMemory, ["platform": platform, "app": app])
            inFlight.add(status.inFlight, ["platform": platform, "app": app])
            retrying.add(status.waitingForRetry, ["platform": platform, "app": app])
            for cause in QueuePause.Cause.allCases {
                paused.add(
                    status.pauseCause == cause ? 1 : 0,
                    ["platform": platform, "app": app, "cause": "\(cause)"]
                )
            }
            hosts.add(status.pausedHosts, ["platform": platform, "app": app])
        }
        return [waiting, share, inMemory, inFlight, retrying, paused, hosts]
    }

    static func outbox(rows: Int, limit: Int) -> [MetricFamily] {
        var count = MetricFamily(
            "carillon_outbox_deliveries",
            .gauge,
            "Deliveries on disk that have not found their end."
        )
        count.add(rows)
        var most = MetricFamily("carillon_outbox_deliveries_limit", .gauge, "Deliveries from which on sources wait.")
        most.add(limit)
        return [count, most]
    }

    static func deadLetters(_ count: Int) -> MetricFamily {
        var letters = MetricFamily(
            "carillon_dead_letters",
            .gauge,
            "Deliveries that failed for good and are kept for carillon queue."
        )
        letters.add(count)
        return letters
    }

    static func registeredDevices(_ counts: [(state: String, devices: Int)]) -> MetricFamily {
        var devices = MetricFamily(
            "carillon_registered_devices",
            .gauge,
            "Devices by the key of the router that they are registered to."
        )
        for count in counts { devices.add(count.devices, ["key": count.state]) }
        return devices
    }

    static func intake(_ backlog: IntakeBacklog) -> [MetricFamily] {
        var events = MetricFamily("carillon_intake_events", .gauge, "Events that wait for the pipeline.")
        events.add(backlog.events)
        var bytes = MetricFamily("carillon_intake_bytes", .gauge, "Bytes of those.")
        bytes.add(backlog.bytes)
        var most = MetricFamily("carillon_intake_events_limit", .gauge, "Events from which on more are refused.")
        most.add(backlog.limit)
        return [events, bytes, most]
    }

    static func waiting(_ gauges: PipelineGauges) -> [MetricFamily] {
        var devices = MetricFamily("carillon_held_devices", .gauge, "Devices for which pushes wait for their time.")
        devices.add(gauges.waitingDevices)
        var events = MetricFamily("carillon_parked_events", .gauge, "Events that wait for a name or a note.")
        events.add(gauges.waitingEvents)
        return [devices, events]
    }

    /// `lost` is nil where nothing is traced.
    static func trace(lost: Int?) -> MetricFamily {
        var family = MetricFamily(
            "carillon_trace_lost_total",
            .counter,
            "Entries of the trace that were not kept: the disk was too slow or refused, or strangers caused too many."
        )
        if let lost { family.add(lost) }
        return family
    }

    static func spans(_ counts: [(result: String, count: Int)]) -> MetricFamily {
        var family = MetricFamily(
            "carillon_tracing_spans_total",
            .counter,
            "Spans for the collector: sent, dropped for lack of room or of an answer, refused by the collector."
        )
        for (result, count) in counts { family.add(count, ["result": result]) }
        return family
    }

    static func relays(_ relays: [RelayStatus]) -> MetricFamily {
        var family = MetricFamily("carillon_relay_connections", .gauge, "Relays by whose they are and how it stands.")
        for (owner, isOperators) in [("operator", true), ("users", false)] {
            let own = relays.filter { $0.isOperators == isOperators }
            for state in ["connected", "connecting", "waiting", "idle"] {
                family.add(own.count { $0.state.word == state }, ["whose": owner, "state": state])
            }
        }
        return family
    }

    static func conduct(_ book: RelayConductBook) -> [MetricFamily] {
        var offences = MetricFamily(
            "carillon_relay_offences_total",
            .counter,
            "What relays did wrong; users' relays are counted together, as users."
        )
        for (relay, counts) in book.offences.sorted(by: { ($0.key?.text ?? "") < ($1.key?.text ?? "") }) {
            for offence in RelayOffence.allCases {
                offences.add(counts[offence] ?? 0, ["relay": relay?.text ?? "users", "what": offence.rawValue])
            }
        }
        var misbehaving = MetricFamily(
            "carillon_relays_misbehaving",
            .gauge,
            "Relays that did wrong within the hour beyond what may be an accident."
        )
        misbehaving.add(book.misbehaving.count, [:])
        return [offences, misbehaving]
    }

    static func lanes(_ lanes: HTTPSnapshot) -> [MetricFamily] {
        var connections = MetricFamily(
            "carillon_lane_connections",
            .gauge,
            "HTTP/2 connections by origin; those that users chose are counted together, as users."
        )
        var streams = MetricFamily("carillon_lane_streams", .gauge, "Requests under way on those.")
        var waiting = MetricFamily(
            "carillon_lane_waiting_requests",
            .gauge,
            "Requests that wait for a stream on those."
        )
        let all = lanes.origins.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + [("users", lanes.users)]
        for (origin, count) in all {
            connections.add(count.connections, ["origin": origin, "state": "open"])
            connections.add(count.connecting, ["origin": origin, "state": "opening"])
            streams.add(count.streams, ["origin": origin])
            waiting.add(count.waiting, ["origin": origin])
        }
        var others = MetricFamily("carillon_curl_requests", .gauge, "Requests that libcurl carries or holds.")
        others.add(lanes.otherRequests)
        return [connections, streams, waiting, others]
    }

    static func requests(_ requests: [QueueName: RequestCounts]) -> [MetricFamily] {
        var begun = MetricFamily("carillon_transport_requests_total", .counter, "HTTP requests that transports made.")
        var answered = MetricFamily("carillon_transport_answers_total", .counter, "Those that were answered.")
        var failed = MetricFamily("carillon_transport_failures_total", .counter, "Those that were not, by why.")
        var inbound = MetricFamily(
            "carillon_transport_inbound_requests_total",
            .counter,
            "Requests from outside that reached transports, by the hundreds of the status they were answered with."
        )
        for (queue, counts) in requests.sorted(by: { $0.key < $1.key }) {
            for (hundreds, count) in counts.inbound.sorted(by: { $0.key < $1.key }) {
                inbound.add(count, ["platform": queue.platform, "app": queue.app, "status": "\(hundreds)xx"])
            }
            begun.add(counts.begun, ["platform": queue.platform, "app": queue.app])
            answered.add(counts.answered, ["platform": queue.platform, "app": queue.app])
            for (reason, count) in counts.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                failed.add(count, ["platform": queue.platform, "app": queue.app, "reason": reason.rawValue])
            }
        }
        return [begun, answered, failed, inbound]
    }

    static func streams(_ streams: [QueueName: StreamCounts]) -> [MetricFamily] {
        var open = MetricFamily("carillon_transport_open_streams", .gauge, "Streams of transports that are open.")
        var begun = MetricFamily("carillon_transport_streams_total", .counter, "Streams that transports opened.")
        var failed = MetricFamily(
            "carillon_transport_stream_failures_total",
            .counter,
            "Those that neither side closed, by why they ended."
        )
        for (queue, counts) in streams.sorted(by: { $0.key < $1.key }) where counts.begun > 0 {
            open.add(counts.open, ["platform": queue.platform, "app": queue.app])
            begun.add(counts.begun, ["platform": queue.platform, "app": queue.app])
            for (reason, count) in counts.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                failed.add(count, ["platform": queue.platform, "app": queue.app, "reason": reason.rawValue])
            }
        }
        return [open, begun, failed]
    }

    static func plugins(_ statistics: [QueueName: TransportStatistics]) -> MetricFamily {
        var family = MetricFamily(
            "carillon_plugin_irregularities_total",
            .counter,
            "What plugins did against the rules, or later than the host waits, since the transport was made."
        )
        for (queue, statistics) in statistics.sorted(by: { $0.key < $1.key }) {
            let all = [
                ("unknown-ticket", statistics.unknownTickets), ("malformed-outcome", statistics.malformedOutcomes),
                ("malformed-request", statistics.malformedRequests), ("malformed-stream", statistics.malformedStreams),
                ("deadline-missed", statistics.deadlinesMissed), ("late-completion", statistics.lateCompletions),
                ("malformed-answer", statistics.malformedAnswers),
            ]
            for (what, count) in all {
                family.add(count, ["platform": queue.platform, "app": queue.app, "what": what])
            }
        }
        return family
    }
}
