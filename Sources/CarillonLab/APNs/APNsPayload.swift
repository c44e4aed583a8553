import Foundation

/// The part of a payload that APNs' rules are about ("Generating a remote notification").
struct APNsPayload: Decodable {
    private struct Dictionary: Decodable {
        private enum CodingKeys: String, CodingKey, CaseIterable {
            case alert
            case badge
            case sound
            case contentAvailable = "content-available"
            case mutableContent = "mutable-content"
            case contentChanged = "content-changed"
            case event
            case contentState = "content-state"
            case timestamp
        }

        var keys: Set<String>
        var contentAvailable: Int?
        var badgeIsNumber: Bool
        var alertIsTextOrObject: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            keys = Set(container.allKeys.map(\.rawValue))
            contentAvailable = try? container.decodeIfPresent(Int.self, forKey: .contentAvailable)
            badgeIsNumber = !keys.contains("badge") || (try? container.decode(Double.self, forKey: .badge)) != nil
            alertIsTextOrObject =
                !keys.contains("alert") || (try? container.decode(String.self, forKey: .alert)) != nil
                || (try? container.decode([String: JSONValue].self, forKey: .alert)) != nil
        }
    }

    private enum CodingKeys: CodingKey {
        case aps
        case mdm
    }

    private let aps: Dictionary?
    private let hasMDM: Bool

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        aps = try container.decodeIfPresent(Dictionary.self, forKey: .aps)
        hasMDM = container.contains(.mdm)
    }

    /// Checks a body against its headers, in the order of APNs.
    ///
    /// APNs does not say how it answers a payload that is no JSON object with `aps`, nor one that does not suit its push type ("may
    /// return an error, delay or drop"): here these are `PayloadEmpty`, and `InvalidPushType` or `BadPriority`.
    static func check(_ request: HTTP2Request, _ headers: APNsHeaders) throws(APNsRefusal) {
        guard !request.body.isEmpty else { throw APNsRefusal(.payloadEmpty, "there is no payload") }
        let limit = (headers.pushType ?? .alert).payloadLimit
        guard request.body.count <= limit, !request.isCut else {
            throw APNsRefusal(
                .payloadTooLarge,
                "the payload has \(request.body.count) bytes, at most \(limit) are allowed"
            )
        }
        let payload: APNsPayload
        do {
            payload = try JSONDecoder().decode(APNsPayload.self, from: Data(request.body))
        } catch {
            throw APNsRefusal(.payloadEmpty, "the payload is not a JSON object with an object \"aps\"")
        }
        try payload.check(headers)
    }

    private func check(_ headers: APNsHeaders) throws(APNsRefusal) {
        if headers.pushType == .mdm {
            guard hasMDM else { throw APNsRefusal(.payloadEmpty, "an mdm push carries \"mdm\"") }
            return
        }
        guard let aps else {
            throw APNsRefusal(.payloadEmpty, "the payload has no object \"aps\"")
        }
        guard aps.badgeIsNumber, aps.alertIsTextOrObject else {
            throw APNsRefusal(.payloadEmpty, "in \"aps\", badge is a number and alert a text or an object")
        }
        let visible = aps.keys.intersection(["alert", "badge", "sound"])
        switch headers.pushType {
        case .alert:
            guard !visible.isEmpty else {
                throw APNsRefusal(.invalidPushType, "an alert push has alert, badge or sound in \"aps\"")
            }
        case .background:
            guard aps.contentAvailable == 1, visible.isEmpty else {
                throw APNsRefusal(
                    .invalidPushType,
                    "a background push has content-available 1 in \"aps\", and no alert, badge or sound"
                )
            }
            guard headers.priority != 10 else {
                throw APNsRefusal(.badPriority, "a background push has priority 5, not 10")
            }
        case .liveactivity:
            guard aps.keys.isSuperset(of: ["event", "content-state", "timestamp"]) else {
                throw APNsRefusal(
                    .invalidPushType,
                    "a Live Activity push has event, timestamp and content-state in \"aps\""
                )
            }
        case .widgets:
            guard aps.keys.contains("content-changed") else {
                throw APNsRefusal(.invalidPushType, "a widgets push has content-changed in \"aps\"")
            }
        default:
            break
        }
        if aps.keys.contains("mutable-content"), !aps.keys.contains("alert"), headers.pushType == .alert {
            throw APNsRefusal(.invalidPushType, "mutable-content needs an alert")
        }
    }
}
