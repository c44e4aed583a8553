import CarillonLab
import Cipher

extension WebPushReceiver {
    /// One that no phone ever had.
    static func fresh() -> WebPushReceiver {
        WebPushReceiver(topic: "up" + Hex.encode(SecureRandom.bytes(6)))
    }
}
