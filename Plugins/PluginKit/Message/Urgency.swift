/// How soon a device should be bothered.
public enum Urgency: Sendable {
    case low
    case normal
    case high
}
