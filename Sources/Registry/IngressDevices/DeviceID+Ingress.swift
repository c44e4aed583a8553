import Notifications

extension DeviceID {
    /// The number of a device of the sealed ingress. They are negative, so that they meet no registered device's.
    init(ingressRow row: Int64) {
        self.init(rawValue: -row)
    }

    /// Whether the sealed ingress met it, rather than anybody having registered it.
    package var isOfIngress: Bool { rawValue < 0 }

    var ingressRow: Int64 { -rawValue }
}
