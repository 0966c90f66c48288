r"""What people type on phones, in LaTeX editors, in word processors and in five languages' schools.

The meaning of each spelling is written in Python, by hand.

A line without indentation is a meaning, after the names of its problem if they are not just x; the
indented lines are spellings of it, parted by ¦. {tab}, {nbsp} and the like are characters that
cannot be seen.
"""

import re

INVISIBLE = {
    "{nbsp}": "\u00a0",
    "{thin}": "\u2009",
    "{narrow}": "\u202f",
    "{zero}": "\u200b",
    "{bom}": "\ufeff",
    "{apply}": "\u2061",
    "{times}": "\u2062",
    "{shy}": "\u00ad",
    "{tab}": "\t",
    "{ff}": "\f",
    "{bs}": "\b",
    "{nl}": "\n",
}

TABLE = r"""
3*x**2 + 2*cos(x)
    3x^2 + 2cos x ¦ 3x²+2cosx ¦ 3x^2+2cos(x) ¦ 3*x**2 + 2*np.cos(x) ¦ f'(x) = 3x^2 + 2cos x
    f’(x)=3x²+2·cos(x) ¦ dy/dx = 3x^2+2cosx ¦ y' = 3x² + 2 cos x ¦ = 3x² + 2cos(x) ¦ 3X^2+2Cos(X)
    $3x^2+2\cos x$ ¦ \(3x^{2}+2\cos(x)\) ¦ \boxed{3x^2+2\cos x} ¦ 3x^2+2Cos[x] ¦ 3x^2+2cos(x).
    3x^2+2cos(x); ¦ 3x²+2cosx ✓ ¦ 3x<sup>2</sup>+2cos x ¦ 3x&sup2; + 2cos(x) ¦ "3x^2 + 2cos x"
    ３ｘ＾２＋２ｃｏｓ（ｘ） ¦ 3𝑥^2+2cos⁡𝑥 ¦ 3{nbsp}x²{nbsp}+{nbsp}2{nbsp}cos{nbsp}x ¦ a) 3x^2+2cosx
    \frac{dy}{dx}=3x^{2}+2\cos\left(x\right) ¦ Answer: 3x^2+2cos(x) ¦ 3x^2 + 2 cosinus x
    3х²+2cosх
6*x - 5
    the derivative is 6x-5 ¦ Die Ableitung lautet 6x-5 ¦ u'v + uv' = 6x - 5 ¦ d/dx = 6x - 5
    6x-5 ¦ 6x−5 ¦ 6x – 5 ¦ 6*x-5 ¦ 6·x − 5 ¦ 6×x-5 ¦ 6x &minus; 5 ¦ 6x &#8722; 5 ¦ y'=6x-5
    (6x-5) ¦ [6x-5] ¦ 6x-5. ¦ f'(x)=6x-5 ¦ $$6x-5$$ ¦ \[6x-5\] ¦ 6X-5 ¦ {bom}6x-5 ¦ dy/dx: 6x-5
2*cos(2*x)
    2cos2x ¦ 2cos(2x) ¦ 2 cos 2x ¦ 2Cos[2x] ¦ 2\cos2x ¦ 2\cos{2x} ¦ 2\cos\left(2x\right)
    cos(2x)·2 ¦ 2⋅cos(2⋅x) ¦ 2 * Math.cos(2*x) ¦ 2COS(2X) ¦ y’ = 2cos2x ¦ 2cos(2·x);
1/x
    1/x ¦ x^-1 ¦ x⁻¹ ¦ x^(-1) ¦ x^{-1} ¦ \frac{1}{x} ¦ \frac1x ¦ \dfrac{1}{x} ¦ 1÷x ¦ 1:x
    (ln x)' = 1/x ¦ 1∕x ¦ x**(-1) ¦ x<sup>-1</sup> ¦ ⅟x ¦ {ff}rac{1}{x} ¦ 1 / X
1/(2*sqrt(x))
    1/(2√x) ¦ 1/(2sqrt(x)) ¦ \frac{1}{2\sqrt{x}} ¦ ½x^(-1/2) ¦ 1/2 x^(-1/2) ¦ 0,5x^(-0,5)
    0.5*x^-0.5 ¦ 1/(2*x**0.5) ¦ 1/(2√(x)) ¦ \frac{1}{2}x^{-\frac{1}{2}} ¦ 1/(2sqrtx) ¦ x^(-1/2)/2
    1/(2Sqrt[x]) ¦ 0,5·x^(−0,5)
cos(x)*exp(sin(x))
    cosx e^(sinx) ¦ cos(x)e^sin(x) ¦ e^sinx cosx ¦ e^(sin x)·cos x ¦ exp(sinx)cosx
    \cos x\,e^{\sin x} ¦ \cos(x)e^{\sin(x)} ¦ cos(x)*exp(sin(x)) ¦ e^{sin x}cos x
    E^(Sin[x]) Cos[x] ¦ cosx⋅eˢⁱⁿˣ
2*x*exp(-x) - x**2*exp(-x)
    2xe^(-x)-x^2e^(-x) ¦ 2xe^-x - x^2 e^-x ¦ (2x-x²)e⁻ˣ ¦ e^{-x}(2x-x^2) ¦ xe^(-x)(2-x)
    x(2-x)e^(-x) ¦ 2xe^{-x}-x^{2}e^{-x} ¦ (2x−x²)exp(−x) ¦ 2x·e^(-x) − x²·e^(-x)
    2x*exp(-x)-x**2*exp(-x) ¦ f'(x)=2x e^{-x} - x^2 e^{-x}
sin(x) + x*cos(x)
    sinx+xcosx ¦ sin x + x cos x ¦ sin(x)+xcos(x) ¦ sen x + x cos x ¦ senx+xcosx ¦ \sin x+x\cos x
    Sin x + x Cos x ¦ Sinx+xcosx ¦ sin(x)+x·cos(x) ¦ xcosx+sinx ¦ sin[x]+x cos[x] ¦ sin⁡x+x cos⁡x
log(x) + 1
    lnx+1 ¦ ln x + 1 ¦ 1+lnx ¦ ln(x)+1 ¦ log(x)+1 ¦ \ln x+1 ¦ Ln(x)+1 ¦ LN(x)+1 ¦ Log[x]+1
    1 + \ln{x} ¦ ln⁡(x)+1 ¦ ln|x| + 1 ¦ logx + 1
2*x*cos(x**2)
    2xcos(x^2) ¦ 2xcosx² ¦ 2x cos(x²) ¦ cos(x^2)·2x ¦ cos(x^2)2x ¦ 2x\cos(x^2) ¦ 2x\cos x^{2}
    2xCos[x^2] ¦ 2x*cos(x**2) ¦ 2x⋅cos(x²) ¦ 2 x cos x^2 ¦ cos(x²)*2x ¦ 2x&middot;cos(x&sup2;)
1/cos(x)**2
    cos^-2(x) ¦ 1:cos²x ¦ (1:cos x)²
    1/cos^2x ¦ 1/cos²x ¦ 1/cos^2(x) ¦ sec^2x ¦ sec²(x) ¦ (cosx)^-2 ¦ \sec^2 x ¦ \frac{1}{\cos^2 x}
    \frac{1}{\cos^{2}x} ¦ 1+tan^2x ¦ 1 + tg²x ¦ 1+tg^2 x ¦ 1/(cosx)^2 ¦ 1/(cos x)² ¦ sec(x)^2
-sin(x)
    -sinx ¦ −sin x ¦ –sin(x) ¦ - sin x ¦ -sen(x) ¦ -senx ¦ &minus;sin x ¦ -\sin x ¦ −\sin(x)
    -Sin[x] ¦ －sin(x) ¦ y'=-sinx ¦ (-sinx) ¦ -sin x. ¦ - seno(x)
2*exp(2*x)
    2e^(2x) ¦ 2e^{2x} ¦ 2exp(2x) ¦ 2*exp(2*x) ¦ 2e²ˣ ¦ 2·e^(2x) ¦ e^(2x)·2 ¦ e^(2x)*2
    2\mathrm{e}^{2x} ¦ 2 E^(2x) ¦ 2e<sup>2x</sup> ¦ 2ⅇ^(2x) ¦ 2e^(2·x) ¦ 2e^2x
exp(x)*(x + 1)
    xe^x+e^x ¦ e^x(x+1) ¦ (x+1)e^x ¦ xeˣ+eˣ ¦ e^x*(1+x) ¦ e^x+xe^x ¦ e^{x}\left(x+1\right)
    e^x[x+1] ¦ (x+1)exp(x) ¦ (1+x)·eˣ ¦ {x+1}e^x ¦ e^x + x·e^x ¦ xexp(x)+exp(x)
-1/x**2
    -1/x^2 ¦ −1/x² ¦ -x^-2 ¦ -x^(-2) ¦ −x⁻² ¦ -\frac{1}{x^2} ¦ -\frac{1}{x^{2}} ¦ (-1)/x^2 ¦ -1:x²
    -(1/x^2) ¦ – 1/x²
(x**2 + 2*x - 1)/(x + 1)**2
    (x^2+2x-1)/(x+1)^2 ¦ \frac{x^2+2x-1}{(x+1)^2} ¦ \frac{x^{2}+2x-1}{\left(x+1\right)^{2}}
    [x²+2x-1]/(x+1)² ¦ (x²+2x−1)/(x+1)² ¦ (x^2+2x-1):(x+1)^2 ¦ (x**2+2*x-1)/(x+1)**2
    {x²+2x-1}/{(x+1)²} ¦ (x²+2x-1)÷(x+1)² ¦ (x^2+2x-1)(x+1)^-2
1/(1 + x**2)
    1/(1+x^2) ¦ 1/(x²+1) ¦ \frac{1}{1+x^2} ¦ (1+x²)⁻¹ ¦ (1+x^2)^-1 ¦ 1/[1+x^2] ¦ 1:(1+x²)
    1/(1 + x*x) ¦ 1/1+x^2
5/2*sqrt(x)**3
    5/2 x^(3/2) ¦ 2.5x^1.5 ¦ 2,5x^1,5 ¦ \frac{5}{2}x^{\frac{3}{2}} ¦ 5/2*x**(3/2) ¦ 2,5·x^(1,5)
    (5/2)x^(3/2) ¦ 2.5*x^(3/2) ¦ 5x^(3/2)/2 ¦ 5/2·√(x³) ¦ 5/2x^(3/2)
0.5*x + 1.25
    0.5x+1.25 ¦ 0,5x+1,25 ¦ .5x+1.25 ¦ 0,5·x + 1,25 ¦ ½x+5/4 ¦ x/2+1.25 ¦ 0,5 x + 1,25 ¦ 1,25+0,5x
    0.5*x+1.25
1234.5*x
    1'234.5x ¦ 1’234.5·x ¦ 1,234.5x ¦ 1234.5x ¦ 1234,5x ¦ 1{narrow}234,5x ¦ 1234.5 * x
cos(x)*cos(x) - sin(x)*sin(x)
    cos²x-sin²x ¦ cos^2x-sin^2x ¦ cos^2(x)-sin^2(x) ¦ cos2x ¦ cos(2x) ¦ (cosx)^2-(sinx)^2
    cosxcosx-sinxsinx ¦ \cos^2x-\sin^2x ¦ \cos^{2}x-\sin^{2}x ¦ cos(x)^2-sin(x)^2
    cos**2 x - sin**2 x
2*sin(x)*cos(x)
    2sinxcosx ¦ 2 sin x cos x ¦ 2sin(x)cos(x) ¦ sin2x ¦ sin(2x) ¦ 2sinx·cosx ¦ 2senxcosx
    2 sen x cos x ¦ 2\sin x\cos x ¦ 2Sin[x]Cos[x] ¦ 2SinxCosx ¦ 2*sin(x)*cos(x) ¦ sin 2x
    2sin x·cos x
tan(x)
    tanx ¦ tan x ¦ tg x ¦ tgx ¦ tan(x) ¦ \tan x ¦ {tab}an x ¦ sinx/cosx ¦ sin x/cos x ¦ tang x
    tg(x)
1/sin(x)**2
    1/sin^2x ¦ csc^2x ¦ csc²x ¦ cosec²x ¦ 1/sen²x ¦ 1+ctg²x ¦ 1+cot^2x ¦ 1 + cotg²x ¦ \csc^2x
    1/(sin x)^2
1/sqrt(1 - x**2)
    (1-x²)⁻¹ᐟ² ¦ 1:√(1-x²)
    1/√(1-x²) ¦ 1/sqrt(1-x^2) ¦ \frac{1}{\sqrt{1-x^2}} ¦ (1-x^2)^(-1/2) ¦ (1-x²)^-½ ¦ 1/√(1−x^2)
    1/(1-x^2)^0,5 ¦ 1/(1-x^2)^(1/2) ¦ 1/√[1-x²] ¦ 1/\sqrt{1-x^{2}} ¦ 1/Sqrt[1-x^2] ¦ 1/raiz(1-x^2)
    1/wurzel(1-x^2)
arctan(x)
    arctan x ¦ arctanx ¦ arctg x ¦ arctgx ¦ atan(x) ¦ tan^-1 x ¦ tan⁻¹x ¦ \arctan x ¦ ArcTan[x]
    arc tan x ¦ arc tg(x) ¦ \operatorname{arctg} x ¦ \tan^{-1}x ¦ Arctan(x)
arcsin(x)
    arcsinx ¦ arcsin x ¦ asin(x) ¦ sin^-1(x) ¦ arcsen x ¦ arc sen x ¦ arcsenx ¦ sin⁻¹(x)
    ArcSin[x] ¦ \arcsin(x)
cosh(x)
    cosh x ¦ coshx ¦ ch x ¦ chx ¦ ch(x) ¦ (e^x+e^-x)/2 ¦ (eˣ+e⁻ˣ)/2 ¦ \cosh x
    \frac{e^x+e^{-x}}{2} ¦ Cosh[x] ¦ ½(e^x+e^(-x)) ¦ (e^x + e^{-x})/2 ¦ 0,5(e^x+e^(-x))
exp(-x**2/2)
    e^(-x^2/2) ¦ exp(-x²/2) ¦ e^{-x^2/2} ¦ e^{-\frac{x^2}{2}} ¦ exp(-0.5x^2) ¦ e^(-0,5x²)
    e^(−x²/2) ¦ \exp\left(-\frac{x^{2}}{2}\right) ¦ e^(-½x²) ¦ exp(-x**2/2) ¦ 1/e^(x²/2)
1/(x*log(10))
    1/(xln10) ¦ 1/(x ln 10) ¦ 1/(x·ln(10)) ¦ \frac{1}{x\ln10} ¦ \frac{1}{x\ln 10} ¦ 1/(x*log(10))
    1/(xln(10)) ¦ 1/(ln10·x) ¦ 1/(ln(10)*x) ¦ 1/(x Log[10])
2**x*log(2)
    2^xln2 ¦ 2^x ln 2 ¦ 2ˣln2 ¦ ln2·2^x ¦ 2^x*ln(2) ¦ 2^{x}\ln2 ¦ ln(2)2^x ¦ 2^x·ln2 ¦ 2**x*log(2)
    2^x Log[2]
log(x)/log(2)
    log_2 x ¦ log_2(x) ¦ log₂x ¦ log₂(x) ¦ ld x ¦ ld(x) ¦ lnx/ln2 ¦ \log_2 x ¦ \log_{2}(x)
    ln(x)/ln(2) ¦ lb(x)
log10(x)
    lg x ¦ lgx ¦ lg(x) ¦ log_10(x) ¦ log10(x) ¦ \lg x ¦ \log_{10}x ¦ log₁₀(x)
abs(x)
    |x| ¦ abs(x) ¦ ∣x∣ ¦ \left|x\right| ¦ \lvert x\rvert ¦ |x|. ¦ Abs[x] ¦ √(x²) ¦ \vert x\vert
    absx
x/abs(x)
    x/|x| ¦ |x|/x ¦ x:|x| ¦ \frac{x}{|x|} ¦ sgn(x) ¦ sign(x) ¦ signum x ¦ \frac{x}{\left|x\right|}
    sgn x
3*(2*x + 1)**2*2
    3(2x+1)^2·2 ¦ 6(2x+1)^2 ¦ 6(2x+1)² ¦ 3(2x+1)²*2 ¦ 3[2x+1]^2*2 ¦ 6\left(2x+1\right)^2
    6*(2*x+1)**2 ¦ 2·3·(2x+1)² ¦ 6[2x+1]² ¦ 3·(2x+1)²·2
(x + 1)*x
    x(x+1) ¦ x[x+1] ¦ x·(x+1) ¦ (x+1)x ¦ x²+x ¦ [x+1]x ¦ (x+1)·x ¦ x\left(x+1\right) ¦ x{x+1}
    x * [x + 1]
16
    16 ¦ 16. ¦ f'(2) = 16 ¦ =16 ¦ x.grad = 16 ¦ 16 ✓ ¦ [16] ¦ １６ ¦ \boxed{16} ¦ f'(2)=16. ¦ "16"
    16;
0.125
    0.125 ¦ 0,125 ¦ 1/8 ¦ .125 ¦ ⅛ ¦ 1:8 ¦ 0,125. ¦ \frac18 ¦ 2^-3 ¦ 1.25e-1 ¦ 1,25·10^(-1)
    1.25×10⁻¹
11.17
    11.17 ¦ 11,17 ¦ ≈ 11.17 ¦ ≈11,17 ¦ f'(2) ≈ 11.17 ¦ = 11,17 ¦ 11.17; ¦ 11,17. ¦ x = 11.17
x y: 2*x*y
    fₓ = 2xy ¦ (2)(x)(y)
    2xy ¦ 2*x*y ¦ 2x*y ¦ 2x·y ¦ 2 x y ¦ 2yx ¦ 2XY ¦ ∂f/∂x = 2xy ¦ f_x = 2xy
    \frac{\partial f}{\partial x}=2xy ¦ $2xy$ ¦ 2𝑥𝑦 ¦ df/dx = 2xy ¦ 2x{times}y ¦ y·2x
    \partial f/\partial x = 2xy ¦ 2xy.
x y: y*cos(x*y)
    ycos(xy) ¦ y cos(xy) ¦ ycosxy ¦ y·cos(x·y) ¦ cos(xy)y ¦ cos(xy)·y ¦ y\cos(xy) ¦ yCos[xy]
    y*cos(x*y) ¦ ycos(yx)
x y: x*exp(x*y)
    xe^(xy) ¦ x e^{xy} ¦ x·e^(x·y) ¦ xexp(xy) ¦ xeˣʸ ¦ xe^{xy} ¦ x*exp(x*y) ¦ e^(xy)x
x y: 3*x**2*y + 4*y**3
    3x^2y+4y^3 ¦ 3x²y+4y³ ¦ 3x^2*y+4y^3 ¦ 3x^{2}y+4y^{3} ¦ 3yx²+4y³ ¦ 3 x² y + 4 y³
    3*x**2*y + 4*y**3 ¦ 3x<sup>2</sup>y+4y<sup>3</sup>
a b x: a*b*cos(b*x)
    abcos(bx) ¦ ab cos bx ¦ a·b·cos(b·x) ¦ abcosbx ¦ ab\cos(bx) ¦ a*b*cos(b*x) ¦ bacos(bx)
    abCos[bx] ¦ a b cos(b x)
a x: 2*a*x
    2ax ¦ 2a x ¦ 2*a*x ¦ 2a·x ¦ 2 ax ¦ 2AX ¦ 2xa ¦ y'=2ax
w x b: 2*(w*x + b - 1)*x
    2(wx+b-1)x ¦ 2x(wx+b-1) ¦ 2*(w*x+b-1)*x ¦ 2x(w·x + b − 1) ¦ 2(xw+b-1)·x
    2\left(wx+b-1\right)x ¦ 2[wx+b-1]x ¦ dL/dw = 2(wx+b-1)x
    \frac{\partial L}{\partial w} = 2(wx+b-1)x
theta x: cos(theta)*x
    xcosθ ¦ x cos(θ) ¦ cosθ·x ¦ x\cos\theta ¦ x cos theta ¦ xcos(theta) ¦ cos(theta)*x ¦ x·cos θ
    x\cos{\theta}
x_1 x_2: 2*x_1*x_2
    2x_1x_2 ¦ 2x₁x₂ ¦ 2x_{1}x_{2} ¦ 2*x_1*x_2 ¦ 2 x_1 x_2 ¦ 2x_1·x_2 ¦ 2x1x2
    2x<sub>1</sub>x<sub>2</sub>
t: exp(-2*t)*(1 - 2*t)
    e^(-2t)(1-2t) ¦ (1-2t)e^(-2t) ¦ e^{-2t}(1-2t) ¦ e⁻²ᵗ(1-2t) ¦ e^(-2t)-2te^(-2t)
    (1−2t)·e^(−2t) ¦ e^{-2t}-2te^{-2t} ¦ (1-2t)exp(-2t) ¦ e^(-2t) - 2t·e^(-2t)
sqrt(x)
    √x ¦ sqrt(x) ¦ sqrtx ¦ x^(1/2) ¦ x^½ ¦ x^0,5 ¦ x^0.5 ¦ \sqrt{x} ¦ \sqrt x ¦ Sqrt[x] ¦ x^{1/2}
    x^{\frac{1}{2}} ¦ raiz(x) ¦ √(x) ¦ x**0.5 ¦ racine(x) ¦ x<sup>1/2</sup> ¦ x^1/2
x**(1/3)
    ∛x ¦ x^(1/3) ¦ cbrt(x) ¦ \sqrt[3]{x} ¦ x^⅓ ¦ x**(1/3) ¦ x^{\frac13} ¦ x^{1/3} ¦ ∛(x)
-x*sin(x) + cos(x)
    cosx-xsinx ¦ cos x − x sin x ¦ cos(x)-xsin(x) ¦ -xsinx+cosx ¦ cosx-xsenx ¦ cos x - x·sin x
    cos(x) - x*sin(x) ¦ \cos x-x\sin x ¦ Cos x - x Sin x
1/(x*log(x))
    1/(xlnx) ¦ 1/(x ln x) ¦ 1/(x·ln(x)) ¦ \frac{1}{x\ln x} ¦ \frac{1}{x\ln(x)} ¦ 1/(x Log[x])
    1/(x*log(x)) ¦ (xlnx)^-1
sin(x)/x
    sinx/x ¦ sin(x)/x ¦ (sinx)/x ¦ \frac{\sin x}{x} ¦ senx/x ¦ sin x : x ¦ (sin x)/x ¦ (1/x)sinx
    x^-1 sin x
x**4/4
    x^4/4 ¦ x⁴/4 ¦ ¼x⁴ ¦ 0,25x^4 ¦ \frac{x^4}{4} ¦ \frac14x^4 ¦ 1/4 x^4 ¦ x**4/4 ¦ (1/4)x^4
    x^4:4 ¦ 0.25*x^4
4*x**3 - 9*x**2 + 2
    4x^3-9x^2+2 ¦ 4x³−9x²+2 ¦ 4x³ - 9x² + 2. ¦ 4x**3-9x**2+2 ¦ 4x^{3}-9x^{2}+2 ¦ 2-9x²+4x³
    4·x^3–9·x^2+2 ¦ f′(x)=4x³-9x²+2 ¦ 4x\^3-9x\^2+2 ¦ 4\*x^3-9\*x^2+2 ¦ 4x^3{shy}-9x^2+2{zero}
    4.*x.^3-9.*x.^2+2 ¦ D f = 4x^3-9x^2+2
tanh(x)
    tanh x ¦ tanhx ¦ th x ¦ th(x) ¦ tgh x ¦ \tanh x ¦ Tanh[x] ¦ (e^x-e^-x)/(e^x+e^-x)
    (e^(2x)-1)/(e^(2x)+1)
1 - tanh(x)**2
    1-tanh^2x ¦ 1-tanh²x ¦ 1 - tanh(x)^2 ¦ 1-(tanhx)^2 ¦ 1−tanh²(x) ¦ 1-\tanh^2 x ¦ 1-th²x
    sech²x ¦ sech^2(x) ¦ 1/cosh²x
-2*x/(x**2 + 1)**2
    -2x/(x^2+1)^2 ¦ −2x/(x²+1)² ¦ \frac{-2x}{(x^2+1)^2} ¦ -\frac{2x}{(x^2+1)^2} ¦ -2x(x²+1)⁻²
    -2x(x^2+1)^-2 ¦ -2x:(x²+1)² ¦ -(2x)/(x^2+1)^2 ¦ -2x÷(x^2+1)^2
pi*x/2
    πx/2 ¦ pix/2 ¦ pi x/2 ¦ pi*x/2 ¦ \frac{\pi x}{2} ¦ (π/2)x ¦ π/2·x ¦ &pi;x/2 ¦ Pi x/2
    \frac{\pi}{2}x ¦ x·π/2
(x - 1)*exp(x)/x**2
    (x-1)e^x/x^2 ¦ e^x(x-1)/x^2 ¦ (xe^x-e^x)/x^2 ¦ (x−1)eˣ/x² ¦ \frac{(x-1)e^x}{x^2}
    (xe^x - e^x)/x² ¦ \frac{e^x(x-1)}{x^{2}}
"""


def rows() -> list[tuple[tuple[str, ...], str, str]]:
    """The names, the meaning and the spelling of each row."""
    listed, names, meaning = [], ("x",), ""
    for line in TABLE.strip("\n").splitlines():
        if not line.startswith(" "):
            head, _, tail = line.rpartition(": ")
            names, meaning = tuple(head.split()) or ("x",), tail
            continue
        for typed in line.strip().split(" ¦ "):
            listed.append((names, meaning, re.sub(r"\{[a-z]+\}", _character, typed)))
    return listed


def _character(match: re.Match[str]) -> str:
    return INVISIBLE.get(match[0], match[0])
