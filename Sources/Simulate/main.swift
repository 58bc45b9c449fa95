// SPDX-License-Identifier: Apache-2.0
import Worlds

print("martlet-simulate")
